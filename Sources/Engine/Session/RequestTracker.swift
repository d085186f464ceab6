/// Requests in flight and frames to send: who waits for which answer, and how long.
///
/// An answer is matched by its request id. A server that does not echo ids gets one
/// request at a time, matched by its verb; after a time-out its connection is unusable,
/// because a late answer could no longer be told from the next one.
internal import Base
internal import Wire

/// One request without an answer.
struct PendingRequest {
  enum Purpose: Equatable {
    case sync(UInt64)
    case marks(ReceiptGroup, conversation: [UInt8], ids: [[UInt8]])
    case operation(UInt64)
    case subscription(Subscription)
  }

  let requestID: [UInt8]
  let verb: Verb
  let purpose: Purpose
  let frame: UInt64
  /// The newest commit when the request was made: its request stamp.
  let issued: UInt64
  /// The page size asked for; a shorter answer may be a whole one.
  let limit: Int
  /// When the frame was taken; nil until then.
  var sentMs: Int64?
  /// When it times out; nil until the frame is taken.
  var deadlineMs: Int64?
  /// What it asked for arrived another way. Its answer may still come, and nobody waits for it.
  var isSettled = false

  var isSubscription: Bool {
    if case .subscription = purpose { true } else { false }
  }
}

struct RequestTracker {
  enum Link { case down, up, unusable }

  private(set) var link = Link.down
  /// Connections so far.
  private(set) var connections: UInt64 = 0
  private(set) var pendingRequests: [PendingRequest] = []
  private(set) var outbox: [OutgoingFrame] = []
  /// Whether this server was seen to echo request ids.
  private var echoes = false
  private var random: Random
  private let prefix: [UInt8]
  private var nextRequest: UInt64 = 1
  private var nextFrame: UInt64 = 1
  private(set) var pacing: AdaptivePacing
  private let pendingMax: Int

  init(seed: UInt64, pacing: AdaptivePacing, pendingMax: Int) {
    random = Random(seed: seed)
    prefix = Array(String(random.next(), radix: 36).utf8)
    self.pacing = pacing
    self.pendingMax = max(1, min(pendingMax, Limits.requestsMax))
  }

  var isUp: Bool { link == .up }

  /// How many requests may go out now.
  var room: Int {
    guard isUp, outbox.count < Limits.framesMax else { return 0 }
    return max(0, (echoes ? pendingMax : 1) - inFlight)
  }

  /// Whether another request may go out now.
  var hasRoom: Bool { room > 0 }

  /// Requests whose answers are waited for.
  var inFlight: Int { pendingRequests.count { !$0.isSettled } }

  /// When an answer came last.
  private var answeredMs: Int64 = .min

  private(set) var losses = ConnectionLosses()

  func isResting(_ nowMs: Int64) -> Bool { isUp && nowMs < losses.restsUntilMs }

  /// A new connection; gives back what the old one left unanswered.
  mutating func connect(nowMs: Int64) -> [PendingRequest] {
    connections &+= 1
    return drop(.up, nowMs: nowMs)
  }

  mutating func disconnect(nowMs: Int64) -> [PendingRequest] { drop(.down, nowMs: nowMs) }

  private mutating func drop(_ link: Link, nowMs: Int64) -> [PendingRequest] {
    self.link = link
    let isTaking = pendingRequests.contains { $0.sentMs != nil && !$0.isSettled }
    let pauseMs = losses.attempt.map { backoffMs(attempt: $0, atLeast: 0) }
    losses.end(taking: isTaking, pauseMs: pauseMs, nowMs: nowMs)
    let lost = pendingRequests.filter { !$0.isSettled }
    pendingRequests = []
    outbox = []
    return lost
  }

  /// Queues a request: bare, or as a command of an account.
  mutating func send(
    _ request: Request, for purpose: PendingRequest.Purpose, issued: UInt64, account: [UInt8]?
  ) {
    let requestID = prefix + [UInt8(ascii: "-")] + Array(String(nextRequest).utf8)
    let frame = nextFrame
    nextRequest += 1
    nextFrame += 1
    outbox.append(OutgoingFrame(id: frame, bytes: request.encoded(id: requestID, account: account)))
    pendingRequests.append(
      PendingRequest(
        requestID: requestID, verb: request.verb, purpose: purpose, frame: frame, issued: issued,
        limit: request.limit))
  }

  /// Queues a request that has no answer.
  mutating func queueUnanswered(_ request: Request, account: [UInt8]?) {
    let requestID = prefix + [UInt8(ascii: "-")] + Array(String(nextRequest).utf8)
    nextRequest += 1
    outbox.append(
      OutgoingFrame(id: newFrame(), bytes: request.encoded(id: requestID, account: account)))
  }

  /// The operation whose frame is the next one for the host.
  var nextOperation: UInt64? {
    guard let frame = outbox.first?.id,
      case .operation(let seq) = pendingRequests.first(where: { $0.frame == frame })?.purpose
    else { return nil }
    return seq
  }

  /// Whether its frame still waits for the host.
  func isUntaken(_ purpose: PendingRequest.Purpose) -> Bool {
    pendingRequests.contains { $0.purpose == purpose && $0.sentMs == nil }
  }

  func isPending(_ purpose: PendingRequest.Purpose) -> Bool {
    pendingRequests.contains { $0.purpose == purpose }
  }

  /// The number of a frame that no answer is waited for.
  mutating func newFrame() -> UInt64 {
    defer { nextFrame += 1 }
    return nextFrame
  }

  /// The next frame for the host.
  mutating func takeFrame(nowMs: Int64) -> OutgoingFrame? {
    guard !outbox.isEmpty else { return nil }
    let frame = outbox.removeFirst()
    _ = startTimer(frame.id, nowMs: nowMs)
    return frame
  }

  /// The host wrote a frame; false for an unknown one.
  mutating func startTimer(_ frame: UInt64, nowMs: Int64) -> Bool {
    guard let index = pendingRequests.firstIndex(where: { $0.frame == frame }) else { return false }
    let (deadline, overflow) = nowMs.addingReportingOverflow(pacing.timeoutMs)
    losses.noteRequest()
    pendingRequests[index].sentMs = nowMs
    pendingRequests[index].deadlineMs = overflow ? .max : deadline
    return true
  }

  /// The flight that an answer belongs to, taken out; nil when nobody waits for it.
  mutating func match(_ response: Response, nowMs: Int64) -> PendingRequest? {
    let index: Int?
    if let requestID = response.requestID {
      index = pendingRequests.firstIndex { $0.requestID == requestID }
      if index != nil { echoes = true }
    } else if !echoes, pendingRequests.count == 1, pendingRequests[0].verb == response.verb {
      index = 0
    } else {
      index = nil
    }
    guard let index else { return nil }
    if let verb = response.verb, verb != pendingRequests[index].verb { return nil }
    let pending = pendingRequests.remove(at: index)
    answeredMs = nowMs
    losses.noteAnswer()
    if let sentMs = pending.sentMs { pacing.answered(afterMs: nowMs - sentMs) }
    return pending
  }

  /// Takes out what has timed out. Voids the connection where ids are not echoed.
  mutating func expire(nowMs: Int64) -> [PendingRequest] {
    let late = pendingRequests.filter { pending in
      !pending.isSettled && pending.deadlineMs.map { $0 <= nowMs } ?? false
    }
    guard !late.isEmpty else { return [] }
    // What is no page and was lost where others were answered says nothing of the network.
    let isAlone = late.allSatisfy { $0.limit == 0 && $0.sentMs ?? .max <= answeredMs }
    if !isAlone { pacing.timedOut() }
    if !echoes { return drop(.unusable, nowMs: nowMs) }
    pendingRequests.removeAll { pending in late.contains { $0.requestID == pending.requestID } }
    return late
  }

  /// What was asked for has arrived another way: no other request waits for this one, and a missing
  /// answer is no error.
  mutating func settle(_ purpose: PendingRequest.Purpose) {
    // Without an echo of ids the answer must still be waited for, or it would be taken for the
    // next one's.
    guard echoes,
      let index = pendingRequests.firstIndex(where: { $0.purpose == purpose && !$0.isSettled })
    else { return }
    pendingRequests[index].isSettled = true
    losses.noteAnswer()
    // The oldest are hardly answered any more.
    if pendingRequests.count(where: \.isSettled) > Limits.requestsMax,
      let oldest = pendingRequests.firstIndex(where: \.isSettled)
    {
      pendingRequests.remove(at: oldest)
    }
  }

  /// Forgets the requests of a cancelled sync and their frames.
  mutating func abandon(_ purpose: PendingRequest.Purpose) {
    let frames = pendingRequests.filter { $0.purpose == purpose }.map(\.frame)
    let unsent = Set(outbox.map(\.id)).intersection(frames)
    outbox.removeAll { unsent.contains($0.id) }
    // What was sent without an echo must still be waited for, or its answer
    // would be taken for the next one's.
    pendingRequests.removeAll { $0.purpose == purpose && (echoes || unsent.contains($0.frame)) }
  }

  /// The earliest time-out.
  var deadlineMs: Int64? {
    pendingRequests.lazy.filter { !$0.isSettled }.compactMap(\.deadlineMs).min()
  }

  /// How long to wait before attempt `attempt`, with jitter.
  mutating func backoffMs(attempt: Int, atLeast: Int64) -> Int64 {
    let base = min(Int64(1_000) << Int64(min(max(attempt - 1, 0), 6)), 60_000)
    let jitter = Int64(random.below(Int(base / 2) + 1))
    return max(base * 3 / 4 + jitter, min(max(atLeast, 0), 86_400_000))
  }
}

extension Request {
  /// How many messages it asks for.
  fileprivate var limit: Int {
    switch self {
    case .getMessages(_, let limit, _), .getEntries(_, let limit, _): limit
    default: 0
    }
  }
}
