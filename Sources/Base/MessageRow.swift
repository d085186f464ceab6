/// One message as a screen shows it; its texts lie in the bytes of its page.
///
/// The store writes it once, in the memory that the host gets; the engine adds what it knows of
/// its place, and the border writes the struct of the header over it. So it is as large as that.
package struct MessageRow: Sendable {
  /// Local number: the identity on screen.
  package var number: UInt64 = 0
  package var timeUs: Int64 = 0
  /// First part of its position: its time, or the server's number.
  package var order: Int64 = 0
  /// The flags of the stored row, bits of the file's format.
  package var stored: Int64 = 0
  /// `TL_MESSAGE_` flags of the header.
  package var flags: UInt32 = 0
  package var state = MessageState.confirmed
  /// Where its texts lie in the bytes of the page.
  package var texts = MessageTexts()
  /// The server's number where that is the position, otherwise 0.
  package var sequence: UInt64 = 0
  /// The operation that sends it, 0 once the server has it.
  package var operation: UInt64 = 0
  /// How much of its attachment is uploaded.
  package var uploadPermille: UInt32 = 1_000
  /// The bytes before its id say its rank.
  package var isRanked = false
  /// When it was last edited, 0 where that is not known.
  package var editedUs: Int64 = 0
  /// The client id under which this user sent it.
  package var clientID = 0..<0
  /// Room that the struct of the header keeps for members to come.
  package var reserved = InlineArray<8, UInt64>(repeating: 0)

  package init() {}

  package var id: Range<Int> { texts.id }
  /// Its id, with its rank before it where that is not 0.
  package var key: Range<Int> { isRanked ? id.lowerBound - 4..<id.upperBound : id }
  package var sender: Range<Int> { texts.sender }
  package var stamp: Range<Int> { texts.stamp }
  package var payload: Range<Int> { texts.payload }
  package var replyTo: Range<Int> { texts.replyTo }
  package var reactions: Range<Int> { texts.reactions }
  package var readBy: Range<Int> { texts.readBy }
  package var rest: Range<Int> { texts.rest }
  package var deliveredBy: Range<Int> { texts.deliveredBy }
  package var listenedBy: Range<Int> { texts.listenedBy }
}

/// Where the texts of a message lie; an empty range is an absent one.
package struct MessageTexts: Sendable {
  package var id = 0..<0
  package var sender = 0..<0
  package var stamp = 0..<0
  package var payload = 0..<0
  package var replyTo = 0..<0
  package var reactions = 0..<0
  package var readBy = 0..<0
  package var rest = 0..<0
  package var deliveredBy = 0..<0
  package var listenedBy = 0..<0

  /// How many there are.
  package static var count: Int { 10 }

  package init() {}

  /// By their order here, which is that of the columns, too; none has another number.
  package subscript(_ index: Int) -> Range<Int> {
    get {
      guard (0..<Self.count).contains(index) else { return 0..<0 }
      return unsafe withUnsafeBytes(of: self) { texts in
        unsafe texts.load(fromByteOffset: Self.stride * index, as: Range<Int>.self)
      }
    }
    set {
      guard (0..<Self.count).contains(index) else { return }
      unsafe withUnsafeMutableBytes(of: &self) { texts in
        unsafe texts.storeBytes(
          of: newValue, toByteOffset: Self.stride * index, as: Range<Int>.self)
      }
    }
  }

  private static var stride: Int { MemoryLayout<Range<Int>>.stride }
}

/// How a message stands. The values are `TL_MESSAGE_` states of the header.
package enum MessageState: Int32, Sendable {
  case confirmed = 0
  case queued
  case inFlight
  case unknown
  case refused
}
