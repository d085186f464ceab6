/// The corpus of search, Tests/TextTests/Data/corpus.tsv: texts, and for each query all texts that
/// it finds.

import Glibc

package struct Corpus: Sendable {
  package struct Text: Sendable {
    package let name: String
    package let bytes: [UInt8]
  }

  package struct Question: Sendable {
    package let query: [UInt8]
    /// Of the texts that it finds.
    package let names: Set<String>
    package let line: String
  }

  package private(set) var texts: [Text] = []
  package private(set) var queries: [Question] = []

  package init() {
    for line in Self.lines("corpus.tsv") where !line.hasPrefix("#") {
      let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 3 else { continue }
      if parts[0] == "text" {
        texts.append(Text(name: parts[1], bytes: Self.bytes(parts[2])))
      } else {
        let names = Set(parts[2].split(separator: " ").map(String.init))
        queries.append(Question(query: Self.bytes(parts[1]), names: names, line: line))
      }
    }
  }

  /// The bytes that are written with escapes: `\xNN`, and `\{a*100}` for a hundred times `a`.
  private static func bytes(_ written: String) -> [UInt8] {
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

  /// A file of what the tests of Text expect, by lines.
  package static func lines(_ name: String) -> [String] {
    let root = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
    guard let file = fopen("/\(root)/Tests/TextTests/Data/\(name)", "r") else { return [] }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = fread(&part, 1, part.count, file)
      if count == 0 { break }
      bytes += part[..<count]
    }
    return String(decoding: bytes, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: true
    ).map(String.init)
  }
}
