/// Cuts a stream of messages into messages: lines of JSON, or the elements of one JSON array.
///
/// Rule protected: it never holds more than one of them, whatever the stream is, and knows after
/// each where the stream goes on and how. It reads no JSON: an element ends at the comma or bracket
/// that is inside of nothing, and what is wrong in it harms only itself.
internal import Base

package struct ItemSplitter: Sendable {
  /// What comes next.
  package enum State: Int64, Sendable {
    case lines = 0
    /// The bracket that opens the array.
    case opening = 1
    case element = 2
    /// Nothing more is to be read.
    case ended = 3
  }

  package struct Item: Equatable, Sendable {
    /// Its bytes, without the space around them; nothing of one that is too long.
    package var bytes: [UInt8]
    /// Of all lines or elements, from 1 on.
    package var number: UInt64
    package var isTooLong = false
  }

  package private(set) var state: State
  /// Where what was not taken begins.
  package private(set) var offset: UInt64
  /// How many lines or elements were passed.
  package private(set) var number: UInt64

  private var pending: [UInt8] = []
  private var isTooLong = false
  private var depth = 0
  private var isInString = false
  private var isEscaped = false
  /// Bytes that were read behind `offset`.
  private var ahead: UInt64 = 0

  package init(_ state: State, offset: UInt64 = 0, number: UInt64 = 0) {
    self.state = state
    self.offset = offset
    self.number = number
  }

  /// Where the next bytes are to be read.
  package var next: UInt64 { offset &+ ahead }

  /// Takes bytes from `next` on until an item is whole; gives it, and how many it has taken.
  package mutating func take(_ bytes: ArraySlice<UInt8>) -> (item: Item?, count: Int) {
    switch state {
    case .lines: takeLine(bytes)
    case .opening: open(bytes)
    case .element: takeElement(bytes)
    case .ended: (nil, bytes.count)
    }
  }

  /// The stream is over: what was begun is an item, too.
  package mutating func end() -> Item? {
    defer { if state != .lines { state = .ended } }
    if state == .opening { return nil }
    if state == .lines && pending.isEmpty && !isTooLong {
      offset = next
      ahead = 0
      return nil
    }
    // What an array lacks its end after is an element, too.
    let item = close(at: 0)
    return state == .lines && item.bytes.isEmpty && !item.isTooLong ? nil : item
  }

  private mutating func takeLine(_ bytes: ArraySlice<UInt8>) -> (item: Item?, count: Int) {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
      keep(bytes)
      ahead &+= UInt64(clamping: bytes.count)
      return (nil, bytes.count)
    }
    keep(bytes[bytes.startIndex..<end])
    let count = end &- bytes.startIndex &+ 1
    let item = close(at: count)
    return (item.bytes.isEmpty && !item.isTooLong ? nil : item, count)
  }

  /// The first byte that is no space opens the array; where it is another, that is the one element.
  private mutating func open(_ bytes: ArraySlice<UInt8>) -> (item: Item?, count: Int) {
    for (index, byte) in bytes.enumerated() where !Self.isSpace(byte) {
      // A mark at the beginning of the text is passed over.
      if isMark(byte, at: next &+ UInt64(clamping: index)) { continue }
      if byte == ASCII.openBracket {
        state = .element
        pass(index &+ 1)
        return (nil, index &+ 1)
      }
      state = .ended
      pass(bytes.count)
      number &+= 1
      return (Item(bytes: [byte], number: number), bytes.count)
    }
    pass(bytes.count)
    return (nil, bytes.count)
  }

  private mutating func takeElement(_ bytes: ArraySlice<UInt8>) -> (item: Item?, count: Int) {
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      index &+= 1
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == ASCII.backslash {
          isEscaped = true
        } else if byte == ASCII.quote {
          isInString = false
        }
        continue
      }
      switch byte {
      case ASCII.quote: isInString = true
      case ASCII.openBrace, ASCII.openBracket: depth &+= 1
      case ASCII.closeBrace: depth = max(depth &- 1, 0)
      case ASCII.closeBracket where depth > 0: depth &-= 1
      case ASCII.comma where depth == 0, ASCII.closeBracket:
        keep(bytes[bytes.startIndex..<index &- 1])
        let isLast = byte == ASCII.closeBracket
        let item = close(at: index &- bytes.startIndex)
        if isLast { state = .ended }
        let isNone = isLast && item.bytes.isEmpty && !item.isTooLong
        if isNone { number &-= 1 }
        return (isNone ? nil : item, index &- bytes.startIndex)
      default: break
      }
    }
    keep(bytes)
    ahead &+= UInt64(clamping: bytes.count)
    return (nil, bytes.count)
  }

  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    if isTooLong { return }
    if pending.count &+ bytes.count > Limits.itemBytesMax {
      isTooLong = true
      pending = []
    } else {
      pending.append(contentsOf: bytes)
    }
  }

  /// What was kept is whole with the next `count` bytes.
  private mutating func close(at count: Int) -> Item {
    offset = next &+ UInt64(clamping: count)
    ahead = 0
    number &+= 1
    var bytes = pending[...]
    if number == 1, state == .lines, bytes.starts(with: Self.mark) { bytes.removeFirst(3) }
    while let last = bytes.last, Self.isSpace(last) { bytes.removeLast() }
    let first = bytes.firstIndex { !Self.isSpace($0) } ?? bytes.endIndex
    let item = Item(bytes: Array(bytes[first...]), number: number, isTooLong: isTooLong)
    pending = []
    isTooLong = false
    (depth, isInString, isEscaped) = (0, false, false)
    return item
  }

  private mutating func pass(_ count: Int) {
    offset = next &+ UInt64(clamping: count)
    ahead = 0
  }

  private func isMark(_ byte: UInt8, at place: UInt64) -> Bool {
    place < 3 && Self.mark[Int(clamping: place)] == byte
  }

  /// What some write at the beginning of a text.
  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }
}

/// Reads a message; the ranges of it point into `bytes`.
package func readLine(_ bytes: [UInt8], zoneOffsetMinutes: Int) -> PageItem {
  do throws(WireFailure) {
    let document = try Document(bytes)
    return MessageReader(document: document, zoneOffsetMinutes: zoneOffsetMinutes)
      .item(document.root)
  } catch {
    return .bad(bytes.indices, .notJSON)
  }
}
