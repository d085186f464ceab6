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
    /// What stands behind the array.
    case ended = 3
    /// What stands behind a line that was passed before its end was there.
    case rest = 4
    /// The same, which was found to be more than space.
    case spoiled = 5
    /// A line that is of no use so far, and has no end yet.
    case begun = 6

    package var isOfLines: Bool {
      switch self {
      case .lines, .rest, .spoiled, .begun: true
      case .opening, .element, .ended: false
      }
    }
  }

  /// Why a stream is no array.
  package enum Fault: Sendable {
    case noArray
    /// It is over before the array ends.
    case isCut
    /// Something stands behind the array.
    case goesOn
  }

  package struct Item: Equatable, Sendable {
    /// Its bytes, without the space around them; nothing of one that is too long.
    package var bytes: [UInt8]
    /// Of all lines or elements, from 1 on.
    package var number: UInt64
    package var isTooLong = false
    /// The line had been passed, and goes on with more than space.
    package var isSpoiled = false
  }

  package private(set) var state: State
  package private(set) var fault: Fault?
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
    self.state = state == .begun ? .lines : state
    self.offset = offset
    self.number = number
  }

  /// Where the next bytes are to be read.
  package var next: UInt64 { offset &+ ahead }

  /// Takes bytes from `next` on until an item is whole; gives it, and how many it has taken.
  package mutating func take(_ bytes: ArraySlice<UInt8>) -> (item: Item?, count: Int) {
    switch state {
    case .begun:
      state = .lines
      return takeLine(bytes)
    case .lines: return takeLine(bytes)
    case .rest, .spoiled: return takeRest(bytes)
    case .opening: return open(bytes)
    case .element: return takeElement(bytes)
    case .ended: return takeEnd(bytes)
    }
  }

  /// The stream is over for now, and an array that is not is cut. A line without its end is an
  /// item, too: one that `isWhole` is passed, and any other is read again from where it began.
  package mutating func end(isWhole: (Item) -> Bool) -> Item? {
    if state == .opening || state == .element { fault = .isCut }
    guard state == .lines, !pending.isEmpty || isTooLong else { return nil }
    let last = item(number &+ 1)
    let isSpace = last.bytes.isEmpty && !last.isTooLong
    if !isSpace, isWhole(last) {
      pass(0)
      number &+= 1
      state = .rest
    } else {
      if !isSpace { state = .begun }
      ahead = 0
    }
    reset()
    return isSpace ? nil : last
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

  private mutating func takeRest(_ bytes: ArraySlice<UInt8>) -> (item: Item?, count: Int) {
    for (index, byte) in bytes.enumerated() {
      let isEnd = byte == UInt8(ascii: "\n")
      guard isEnd || state == .rest && !Self.isSpace(byte) else { continue }
      state = isEnd ? .lines : .spoiled
      pass(index &+ 1)
      return (isEnd ? nil : Item(bytes: [], number: number, isSpoiled: true), index &+ 1)
    }
    pass(bytes.count)
    return (nil, bytes.count)
  }

  /// The first byte that is no space opens the array.
  private mutating func open(_ bytes: ArraySlice<UInt8>) -> (item: Item?, count: Int) {
    for (index, byte) in bytes.enumerated() where !Self.isSpace(byte) {
      // A mark at the beginning of the text is passed over.
      if isMark(byte, at: next &+ UInt64(clamping: index)) { continue }
      if byte == ASCII.openBracket {
        state = .element
        pass(index &+ 1)
        return (nil, index &+ 1)
      }
      fault = .noArray
      return (nil, bytes.count)
    }
    pass(bytes.count)
    return (nil, bytes.count)
  }

  private mutating func takeEnd(_ bytes: ArraySlice<UInt8>) -> (item: Item?, count: Int) {
    let space = bytes.prefix(while: Self.isSpace).count
    pass(space)
    if space < bytes.count { fault = .goesOn }
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
    pass(count)
    number &+= 1
    defer { reset() }
    return item(number)
  }

  private func item(_ number: UInt64) -> Item {
    var bytes = pending[...]
    if number == 1, state == .lines, bytes.starts(with: Self.mark) { bytes.removeFirst(3) }
    while let last = bytes.last, Self.isSpace(last) { bytes.removeLast() }
    let first = bytes.firstIndex { !Self.isSpace($0) } ?? bytes.endIndex
    return Item(bytes: Array(bytes[first...]), number: number, isTooLong: isTooLong)
  }

  private mutating func reset() {
    pending = []
    isTooLong = false
    (depth, isInString, isEscaped) = (0, false, false)
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
