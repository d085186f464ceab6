/// A stream is cut into the same messages wherever its parts end, and wherever it goes on.
import Base
import Testing

@testable import Wire

@Suite struct SplitterTests {
  private typealias Item = ItemSplitter.Item

  /// Reads a stream in parts; at each item it begins anew from what a file would know, or goes on.
  private func items(
    _ text: String, _ form: ItemSplitter.State, part: Int, restarts: Bool = false
  ) -> [String] {
    let bytes = Array(text.utf8)
    var splitter = ItemSplitter(form)
    var found: [Item] = []
    while splitter.fault == nil {
      let from = Int(splitter.next)
      if from >= bytes.count {
        if let item = splitter.end(isWhole: { !$0.bytes.contains(UInt8(ascii: "?")) }) {
          found.append(item)
        }
        break
      }
      let (item, count) = splitter.take(bytes[from..<min(bytes.count, from + part)])
      #expect(count > 0 || item != nil)
      guard let item else { continue }
      found.append(item)
      if restarts {
        splitter = ItemSplitter(
          splitter.state, offset: splitter.offset, number: splitter.number)
      }
    }
    let fault = splitter.fault.map { ["\($0)"] } ?? []
    return found.map {
      "\($0.number):\(String(decoding: $0.bytes, as: UTF8.self))" + ($0.isSpoiled ? "!" : "")
    } + fault
  }

  private func check(_ text: String, _ form: ItemSplitter.State, _ expected: [String]) {
    for part in [1, 2, 3, 7, 10_000] {
      for restarts in [false, true] {
        #expect(items(text, form, part: part, restarts: restarts) == expected, "\(text) \(part)")
      }
    }
  }

  @Test func lines() {
    check("", .lines, [])
    check("\n\n", .lines, [])
    check("a\n b \n\nc", .lines, ["1:a", "2:b", "4:c"])
    check("a\r\nb\r\n", .lines, ["1:a", "2:b"])
    check("\u{FEFF}{}\n[]\n", .lines, ["1:{}", "2:[]"])
    check("a\n  ", .lines, ["1:a"])
    check("a\nb?", .lines, ["1:a", "2:b?"])
  }

  /// What a line without its end is depends on what comes behind it once there is more.
  @Test func linesThatGoOn() {
    check("a\nb", more: "\nc\n", ["1:a", "2:b", "3:c"])
    check("a\nb", more: " \r\n\nc", ["1:a", "2:b", "4:c"])
    check("a\nb", more: "", ["1:a", "2:b"])
    check("a\nb?", more: "b\nc\n", ["1:a", "2:b?", "2:b?b", "3:c"])
    check("a\nb?", more: "", ["1:a", "2:b?", "2:b?"])
    check("a\nb", more: "?b\nc\n", ["1:a", "2:b", "2:!", "3:c"])
    check("a\n  ", more: "b\nc\n", ["1:a", "2:b", "3:c"])
    check("a\n  ", more: "\nc\n", ["1:a", "3:c"])
    check("", more: "\u{FEFF}a\n", ["1:a"])
  }

  private func check(_ text: String, more: String, _ expected: [String]) {
    for part in [1, 2, 3, 10_000] {
      for restarts in [false, true] {
        var bytes = Array(text.utf8)
        var splitter = ItemSplitter(.lines)
        var found: [Item] = []
        for rest in [Array(more.utf8), []] {
          while Int(splitter.next) < bytes.count {
            let from = Int(splitter.next)
            let (item, _) = splitter.take(bytes[from..<min(bytes.count, from + part)])
            if let item { found.append(item) }
          }
          let end = splitter.end { !$0.bytes.contains(UInt8(ascii: "?")) }
          if let end { found.append(end) }
          if restarts {
            splitter = ItemSplitter(
              splitter.state, offset: splitter.offset, number: splitter.number)
          }
          bytes += rest
        }
        let texts = found.map {
          "\($0.number):\(String(decoding: $0.bytes, as: UTF8.self))" + ($0.isSpoiled ? "!" : "")
        }
        #expect(texts == expected, "\(text) \(more) \(part)")
      }
    }
  }

  @Test func elements() {
    check("[]", .opening, [])
    check(" [ ] ", .opening, [])
    check("\u{FEFF}[1]", .opening, ["1:1"])
    check("[1, 2 ,[3,4],{\"a\":[5]}] \n", .opening, ["1:1", "2:2", "3:[3,4]", "4:{\"a\":[5]}"])
    check("[1]x", .opening, ["1:1", "goesOn"])
    check("[1] [2]", .opening, ["1:1", "goesOn"])
    check("[\"],\\\"\",\"\\\\\"]", .opening, ["1:\"],\\\"\"", "2:\"\\\\\""])
    check("[1,,2]", .opening, ["1:1", "2:", "3:2"])
    check("[1}},2]", .opening, ["1:1}}", "2:2"])
    check("[1,{\"a\":", .opening, ["1:1", "isCut"])
    check("[1", .opening, ["isCut"])
    check("[1,", .opening, ["1:1", "isCut"])
    check("{\"a\":1}", .opening, ["noArray"])
    check(" 1", .opening, ["noArray"])
    check("", .opening, ["isCut"])
    check("[1,]", .opening, ["1:1"])
  }

  /// What is too long is passed over, and named.
  @Test(arguments: [ItemSplitter.State.lines, .opening]) func whatIsTooLong(
    _ form: ItemSplitter.State
  ) {
    let long = [UInt8](repeating: UInt8(ascii: "1"), count: Limits.itemBytesMax + 1)
    let isArray = form == .opening
    var bytes = isArray ? [UInt8(ascii: "[")] : []
    bytes += long + Array((isArray ? ",2]" : "\n2\n").utf8)
    var splitter = ItemSplitter(form)
    var found: [Item] = []
    while Int(splitter.next) < bytes.count {
      let from = Int(splitter.next)
      let (item, _) = splitter.take(bytes[from..<min(bytes.count, from + 65_536)])
      if let item { found.append(item) }
    }
    #expect(found.map(\.isTooLong) == [true, false])
    #expect(found.map(\.number) == [1, 2] && found[0].bytes.isEmpty)
  }
}
