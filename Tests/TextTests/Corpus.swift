/// The corpus of Data/corpus.tsv: texts, and for each query all texts that it finds.

struct Corpus {
  var texts: [(name: String, bytes: [UInt8])] = []
  var queries: [(query: [UInt8], names: [String], line: String)] = []

  init(_ lines: [String]) {
    for line in lines where !line.hasPrefix("#") {
      let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 3 else { continue }
      if parts[0] == "text" {
        texts.append((parts[1], Self.bytes(parts[2])))
      } else {
        let names = parts[2].split(separator: " ").map(String.init)
        queries.append((Self.bytes(parts[1]), names, line))
      }
    }
  }

  /// The bytes that are written with escapes: `\xNN`, and `\{a*100}` for a hundred times `a`.
  static func bytes(_ written: String) -> [UInt8] {
    let source = Array(written.utf8)
    var result: [UInt8] = []
    var at = 0
    while at < source.count {
      if source[at...].starts(with: "\\x".utf8), at + 3 < source.count {
        let digits = String(decoding: source[at + 2...at + 3], as: UTF8.self)
        result.append(UInt8(digits, radix: 16) ?? 0)
        at += 4
      } else if source[at...].starts(with: "\\{".utf8),
        let end = source[at...].firstIndex(of: UInt8(ascii: "}")),
        let star = source[at..<end].lastIndex(of: UInt8(ascii: "*"))
      {
        let count = Int(String(decoding: source[star + 1..<end], as: UTF8.self)) ?? 0
        let part = source[at + 2..<star]
        for _ in 0..<count { result += part }
        at = end + 1
      } else {
        result.append(source[at])
        at += 1
      }
    }
    return result
  }
}
