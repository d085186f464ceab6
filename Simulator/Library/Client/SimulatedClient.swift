/// The small protocol behind which a world drives a client, whichever it is.
///
/// It holds what a host can do and see, nothing of how a client works inside.

package import Base

/// `foreign`: refused untouched, since the frame names another account.
package enum SimReceipt: String, Sendable { case applied, ignored, quarantined, foreign }

package struct SimFrame: Sendable {
  package var id: UInt64
  package var bytes: [UInt8]
}

/// A row as it was read, once and for all: lists of them are copied at every step, and so hold
/// one reference each.
package final class SimRow: Equatable {
  package let number: UInt64
  package let timeUs: Int64
  /// The first part of its place: the server's number where it has one, otherwise the time.
  package let order: Int64
  package let id: [UInt8]
  /// Orders it among those with the same first part: its id, with a rank before it or not.
  package let key: [UInt8]
  package let sender: [UInt8]
  package let payload: [UInt8]
  package let unread: Bool
  package let unverified: Bool
  /// The host has not opened its payload yet.
  package let isSealed: Bool
  /// It was deleted, and keeps its place: in a log.
  package let isDeleted: Bool
  package let marks: SimMarks
  /// It is not on the server yet; it stands behind all others, in the order of sending.
  package let isPending: Bool
  /// The operation that sends it; its place among those on their way.
  package let operation: UInt64
  /// What it was found to be; set by the first look at it.
  var known: KnownRow?
  /// The newest change of its reactions.
  private(set) lazy var reaction =
    marks.reactions.isEmpty
    ? nil : Ledger.marks(marks.reactions, 0x52).max { $0.version < $1.version }

  init(
    number: UInt64, timeUs: Int64, order: Int64, id: [UInt8], sender: [UInt8], payload: [UInt8],
    unread: Bool, unverified: Bool, isSealed: Bool = false, isDeleted: Bool = false,
    marks: SimMarks = SimMarks(),
    isPending: Bool = false, operation: UInt64 = 0, key: [UInt8]? = nil
  ) {
    self.number = number
    self.key = key ?? id
    self.timeUs = timeUs
    self.order = order
    self.id = id
    self.sender = sender
    self.payload = payload
    self.unread = unread
    self.unverified = unverified
    self.isSealed = isSealed
    self.isDeleted = isDeleted
    self.marks = marks
    self.isPending = isPending
    self.operation = operation
  }

  /// The same row as a planted fault shows it.
  func spoiled(number: UInt64? = nil, payload: [UInt8]? = nil) -> SimRow {
    SimRow(
      number: number ?? self.number, timeUs: timeUs, order: order, id: id, sender: sender,
      payload: payload ?? self.payload, unread: unread, unverified: unverified,
      isSealed: isSealed, isDeleted: isDeleted, marks: marks, isPending: isPending,
      operation: operation)
  }

  /// The same row as one who has lost its key shows it.
  func shut() -> SimRow {
    SimRow(
      number: number, timeUs: timeUs, order: order, id: id, sender: sender,
      payload: SimKeys.start + [0x30] + SimKeys.middle + payload + [0x7D], unread: unread,
      unverified: unverified, isSealed: true, marks: marks)
  }

  package static func == (a: SimRow, b: SimRow) -> Bool {
    a === b
      || a.number == b.number && a.timeUs == b.timeUs && a.order == b.order && a.id == b.id
        && a.sender == b.sender && a.payload == b.payload && a.unread == b.unread
        && a.unverified == b.unverified && a.isSealed == b.isSealed
        && a.isDeleted == b.isDeleted
        && a.marks == b.marks && a.isPending == b.isPending
        && a.operation == b.operation
  }

  /// The names of the members in which two rows differ.
  func differences(from other: SimRow) -> [String] {
    let members: [(String, Bool)] = [
      ("number", number == other.number), ("time", timeUs == other.timeUs),
      ("order", order == other.order), ("id", id == other.id), ("sender", sender == other.sender),
      ("payload", payload == other.payload), ("unread", unread == other.unread),
      ("unverified", unverified == other.unverified), ("sealed", isSealed == other.isSealed),
      ("deleted", isDeleted == other.isDeleted),
      ("marks", marks == other.marks), ("pending", isPending == other.isPending),
      ("operation", operation == other.operation),
    ]
    return members.filter { !$0.1 }.map(\.0)
  }
}

/// What others did to a message, as it came; an empty text means none.
package struct SimMarks: Equatable, Sendable {
  package var pinned = false
  package var reactions: [UInt8] = []
  package var readBy: [UInt8] = []
  package var deliveredBy: [UInt8] = []
  package var listenedBy: [UInt8] = []
}

package struct SimPage: Equatable {
  /// Oldest first.
  package var rows: [SimRow] = []
  /// What is on its way to the server, behind all of them.
  package var pending: [SimRow] = []
  /// Before which rows messages may be missing; the row count means behind the last one.
  package var gapsBefore: [Int] = []
  /// The read ended because nothing older exists.
  package var reachesStart = false

  /// The same rows, whatever is claimed of them.
  func hasRows(of other: SimPage) -> Bool {
    rows.count == other.rows.count && pending == other.pending
      && zip(rows, other.rows).allSatisfy { row, other in
        row.differences(from: other).allSatisfy { $0 == "unverified" }
      }
  }
}

package enum SimOutcome: Equatable, Sendable {
  case pending, ok
  case failed(String)
}

package struct SimProgress: Equatable, Sendable {
  package var outcome: SimOutcome
  package var requests: Int
}

package struct SimState: Equatable, Sendable {
  package var busy = false
  package var syncsLeft = 0
  package var requests = 0
  package var reconnectWanted = false
  package var readsPending = 0
  package var repliesOwed = 0
}

/// An event of the server that is not a message.
package struct SimEvent: Equatable, Sendable {
  package var seq: UInt64
  package var body: [UInt8]
}

package protocol SimulatedClient: AnyObject {
  /// Whether its pages say which ranges are whole. The control says nothing.
  var claimsCoverage: Bool { get }
  func connected() throws
  func disconnected() throws
  func receive(_ bytes: [UInt8]) throws -> SimReceipt
  func nextFrame() throws -> SimFrame?
  func frameSent(_ id: UInt64) throws
  /// Whether a frame is one that a client with a planted fault would not send yet.
  func isKeptBack(_ frame: [UInt8]) -> Bool
  /// Milliseconds until the next deadline, -1 for none.
  func advance() throws -> Int64
  func syncLatest(_ conversation: [UInt8]) throws -> UInt64
  func syncOlder(_ conversation: [UInt8], want: Int) throws -> UInt64
  func cancel(_ sync: UInt64) throws
  func progress(_ sync: UInt64) throws -> SimProgress
  /// The newest `limit` rows.
  func page(_ conversation: [UInt8], limit: Int) throws -> SimPage
  func markRead(_ conversation: [UInt8], ids: [[UInt8]]) throws
  func forget(_ conversation: [UInt8], id: [UInt8]) throws
  func state() throws -> SimState
  /// Whether pages have told in which way they are listed.
  func knowsListings() throws -> Bool
  /// Rows of its file that contradict each other.
  func contradictions() throws -> UInt64
  /// Sequence numbers of the changes after `seq`; nil where they are no longer kept.
  func changes(after seq: UInt64) throws -> [UInt64]?
  func openWindow(
    _ conversation: [UInt8], at place: SimPlace, count: Int, rowsMax: Int, holdMs: Int64
  ) throws -> (any SimulatedWindow)?
  func markListened(_ conversation: [UInt8], ids: [[UInt8]]) throws
  /// All events after `seq`; nil where they are no longer kept.
  func events(after seq: UInt64) throws -> [SimEvent]?
  /// The bodies of all profiles, by id.
  func profiles() throws -> [String: [UInt8]]
  /// Takes an image of the files at the `writes`-th write call from now on.
  func armKill(afterWrites writes: Int)
  /// Whether the armed image has been taken.
  var imageTaken: Bool { get }
  /// Ends this process image as kill -9 would and goes on from the image taken, or from now.
  func killAndReopen() throws
  /// Ends it as a loss of power would: only what was synced is sure to be there. False where the
  /// world has no disk.
  func cutPowerAndReopen(_ dice: inout Random) throws -> Bool
  /// The `writes`-th write call from now on fails.
  func armDiskFailure(afterWrites writes: Int)
  /// The `reads`-th read from now on fails once.
  func armReadFailure(afterReads reads: Int)
  /// The faulty disk works again.
  func mendDisk()
  /// Whether a call failed for the disk's sake alone.
  func isDiskTrouble(_ error: any Error) -> Bool
  /// Ends the client and removes its files.
  func discard()
}

/// A client without windows, events and a disk: the control.
extension SimulatedClient {
  package func openWindow(
    _ conversation: [UInt8], at place: SimPlace, count: Int, rowsMax: Int, holdMs: Int64
  ) throws -> (any SimulatedWindow)? { nil }
  package func isKeptBack(_ frame: [UInt8]) -> Bool { false }
  package func markListened(_ conversation: [UInt8], ids: [[UInt8]]) throws {}
  package func events(after seq: UInt64) throws -> [SimEvent]? { [] }
  package func profiles() throws -> [String: [UInt8]] { [:] }
  package func cutPowerAndReopen(_ dice: inout Random) throws -> Bool { false }
  package func armDiskFailure(afterWrites writes: Int) {}
  package func armReadFailure(afterReads reads: Int) {}
  package func mendDisk() {}
  package func isDiskTrouble(_ error: any Error) -> Bool { false }
}
