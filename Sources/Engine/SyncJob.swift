/// One sync of one conversation, as a value: what it is after and how far it is.
///
/// A job holds no truth. Everything it has proven is in the store; a killed process
/// loses only the job, and the next one begins from the store's watermarks.
internal import Base
internal import Store
internal import Timeline
internal import Wire

struct SyncJob {
  /// Each stage has exactly one request in flight.
  enum Stage {
    /// Nothing asked yet; the store says where to begin.
    case start
    /// Everything from the bound on.
    case tail(Trust.Bound)
    /// The newest page, up to the present.
    case newest
    /// Back in time from the newest page until the bound is reached.
    case walk(Walk)
    /// Back in time from the oldest end of the newest range.
    case older(Walk)
    /// Deletions since a watermark; `knownUs` is the greatest server time when asked.
    case deletions(since: [UInt8], sinceUs: Int64, knownUs: Int64?)
  }

  let id: UInt64
  var request: SyncRequest
  /// How many asked for it.
  var holders = 1
  var status = SyncStatus()
  var stage = Stage.start
  var inFlight = false
  var attempts = 0
  var notBeforeMs: Int64 = .min
  var pages = 0

  /// The catch-up must reach down to here; nil when nothing was known before.
  var bound: Position?
  /// The watermark that the catch-up will leave behind.
  var top: Watermark?
  /// Up to where its first page reached, stamps that moved nothing included.
  var present: Position?
  /// The greatest server time known when its first page was stored.
  var knownUs: Int64?
  /// Nothing of the conversation was stored before this job's first page.
  var isFresh = false
  /// The catch-up part is over; what follows is the older part.
  var caughtUp = false
  /// The older part is over; only deletions are still asked.
  var olderIsDone = false
  /// Messages still wanted of the older part.
  var wanted = 0
  /// Stored messages that a whole answer did not show; a deletion may explain them.
  var suspects: [[UInt8]] = []
  /// The same, stamped so late that the server may not show them yet.
  var unsettled: Set<[UInt8]> = []
  /// The tick that the walk's low end cuts, with what was shown of it so far.
  var openTick: OpenTick?
  /// The request stamp of the answer being taken, and the page size asked.
  var issued: UInt64 = 0
  var asked = 0
  /// The server showed a message whose deletion is recorded here.
  var sawBuried = false
  /// Where deletions were asked from by this job, so that it never goes round.
  var cursors: Set<[UInt8]> = []
  /// Answers in a row that promised more deletions and held none.
  var idleDeletionPages = 0
  /// The server's count of the conversation, from the last page.
  var total: Int64?
  var restores = 0
  var isRecheck = false
  var isRevalidation = false

  init(id: UInt64, request: SyncRequest) {
    self.id = id
    self.request = request
    wanted = request.want
  }

  /// Forgets what it was about and begins again from the store.
  mutating func beginAgain() {
    stage = .start
    bound = nil
    top = nil
    present = nil
    suspects = []
    unsettled = []
    openTick = nil
    caughtUp = false
    sawBuried = false
    cursors = []
    idleDeletionPages = 0
  }

  /// The request of this stage.
  func wireRequest(limit: Int) -> Request? {
    let conversation = request.conversation
    switch stage {
    case .start:
      return nil
    case .tail(let bound):
      return .getMessages(
        conversation: conversation, limit: limit, place: .offset(0, after: bound.after))
    case .newest:
      return .getMessages(
        conversation: conversation, limit: limit, place: .offset(0, after: nil))
    case .walk(let walk), .older(let walk):
      return .getMessages(
        conversation: conversation, limit: limit, place: .offset(walk.offset, after: nil))
    case .deletions(let since, _, _):
      return .getDeletedSince(conversation: conversation, since: since)
    }
  }
}

/// A tick that lies on both sides of a page's end.
struct OpenTick {
  var time: Int64
  var seen: Set<[UInt8]>
}

/// What a job does after an answer.
enum Step {
  /// Its stage is set; ask again.
  case next
  case ended(Failure?)
}
