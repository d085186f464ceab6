/// Read, delivered and listened marks: durable, batched, each id sent until confirmed
/// and never after.
///
/// Fetching is not reading; marking what was fetched is a setting. Only ids of
/// others that this user is not known to have read, received or listened to are ever
/// queued.
internal import Base
internal import Store
internal import Wire

/// Marks of one kind in one conversation.
struct ReceiptGroup: Hashable {
  let kind: ReceiptKind
  let cid: Int64
}

/// What the process remembers of the receipts that are pending in the file.
struct ReceiptQueue {
  /// Whether some may be waiting, and when to try again after trouble.
  private(set) var isWaiting = true
  private var attempts = 0
  private(set) var notBeforeMs: Int64 = .min
  /// The trouble was that no answer came.
  private(set) var isSilent = false
  /// How many pages have queued since some were sent.
  private var queued = 0
  /// How many go into one request where the server refused a larger one.
  private var batches: [ReceiptGroup: Int] = [:]

  /// A new connection: all are tried again.
  mutating func connect() {
    isWaiting = true
    attempts = 0
    notBeforeMs = .min
    isSilent = false
    queued = 0
  }

  /// A page has queued so many.
  mutating func queue(_ count: Int) {
    isWaiting = true
    queued += min(count, Limits.markReadBatch)
  }

  /// Some may be waiting again.
  mutating func wake() { isWaiting = true }

  /// Whether those that are queued wait for pages to come: fewer and larger requests say the same.
  var areFew: Bool { queued > 0 && queued < Limits.markReadBatch }

  /// All that wait are looked through.
  mutating func beginSending() { queued = 0 }

  /// How many of those that wait go into one request.
  func batch(_ group: ReceiptGroup) -> Int { batches[group] ?? Limits.markReadBatch }

  /// So many of a group have to wait for another request.
  mutating func leave(_ count: Int) { queued += min(count, Limits.markReadBatch) }

  mutating func endSending(areLeft: Bool) { isWaiting = areLeft }

  /// Something else was answered: what was lost is not lost because nobody hears.
  mutating func noteAnswer(at nowMs: Int64, backoffMs: Int64) {
    guard isSilent else { return }
    isSilent = false
    attempts = min(attempts, 1)
    notBeforeMs = min(notBeforeMs, nowMs + backoffMs)
  }

  /// How long marks wait that a server refuses again and again.
  private static let pauseMs: Int64 = 15 * 60_000

  /// Marks were not taken: they are tried again.
  mutating func fail(
    isSilent: Bool, at nowMs: Int64, pauseMs: (_ attempts: Int, _ atLeast: Int64) -> Int64
  ) {
    isWaiting = true
    attempts += 1
    self.isSilent = isSilent
    let isRefusing = !isSilent && attempts > SyncScheduler.attemptsMax
    notBeforeMs = nowMs + pauseMs(attempts, isRefusing ? Self.pauseMs : 0)
  }

  /// Marks were taken, and a request may be larger again.
  mutating func succeed(_ group: ReceiptGroup) {
    batches[group] = batches[group].flatMap { size in
      size < Limits.markReadBatch / 2 ? size * 2 : nil
    }
  }

  /// One of so many may be the reason why the server refused them; the others are still pending.
  mutating func halve(_ group: ReceiptGroup, of count: Int) { batches[group] = count / 2 }

  /// An answer came, whatever it says.
  mutating func answered() {
    attempts = 0
    isWaiting = true
  }
}
