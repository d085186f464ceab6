/// What is known of the server as a whole: its clock, how it prints times, how late it commits, and
/// how large its pages are.
///
/// Rules protected: the server's time is set by what bears a stamp out, never by a lone one; the
/// device's clocks lower trust and move no watermark.
internal import Base
internal import Store
internal import Timeline
internal import Wire

struct ServerKnowledge {
  let profile: Profile
  /// What is in the file, too.
  private(set) var facts: ServerFacts
  /// How this server prints times, from the last page of any conversation.
  private(set) var form: Stamp?
  /// The device's clocks at the last answer.
  private(set) var clock = Instant(monotonicMs: 0)
  /// By how much the server's clock was seen to be ahead of the one that runs since the device's
  /// start.
  private var aheadOfStartUs: Int64?
  private var clockCheck = ServerClockCheck()
  /// What an answer of this connection stated of the server's clock last, and when that was.
  private var stated: (time: ServerTime, ms: Int64)?
  /// How many connections there were.
  private var connection: UInt64 = 0

  init(_ profile: Profile, facts: ServerFacts) {
    self.profile = profile
    self.facts = facts
  }

  // MARK: Looking

  var overlapUs: Int64 { max(profile.overlapUs, facts.overlapUs) }

  var scheme: PositionScheme { PositionScheme(profile, overlapUs: overlapUs) }

  /// The greatest server time that is known.
  var time: ServerTime? { facts.serverTime }

  func stamp(_ text: [UInt8]?) -> Stamp? { scheme.stamp(text) }

  /// How this server prints times, as far as that is known of a conversation.
  func form(of record: ConversationRecord) -> Stamp? { form ?? stamp(record.fetch?.text) }

  func can(_ capability: Profile.Capabilities) -> Bool { profile.capabilities.contains(capability) }

  /// The selection for the page below a boundary, on servers that page by keys.
  func key(below edge: Position, _ record: ConversationRecord) -> PositionScheme.Key? {
    guard can(.before), edge != .max, edge != .min,
      let form = form(of: record)
    else { return nil }
    return scheme.key(below: edge, form: form)
  }

  /// What the server's clock shows at least. Without a newer server time the device's clocks say
  /// how old the last one is; they lower trust and move no watermark.
  var timeAtLeast: ServerTime? {
    guard let known = facts.serverTime else { return nil }
    let byWall = clock.wallUs.flatMap { wall in facts.clockAheadUs.map { wall &+ $0 } }
    let byStart = aheadOfStartUs.map { clock.monotonicMs &* 1_000 &+ $0 }
    return ServerTime(us: max(known.us, byWall ?? known.us, byStart ?? known.us))
  }

  /// Whether a watermark stands ahead of the server's clock, which was wrong then and is right
  /// now: what happened since the clock was wrong is not known, so all is asked for.
  func isAhead(_ watermark: Watermark?) -> Bool {
    guard let known = clockCheck.surely, let watermark else { return false }
    return watermark.time > known.saturating(plus: WatermarkPolicy.dayUs)
  }

  /// Whether the server was found restored since this conversation was last synced.
  func mustDistrust(_ record: ConversationRecord) -> Bool {
    record.fetch != nil && record.restoredLSN < facts.restoredLSN
  }

  /// Whether a lone stamp may move what will be asked from: one ahead of the server's
  /// clock would hide what arrives until then.
  func isBorneOut(_ time: ServerTime, at now: Instant) -> Bool {
    guard let known = facts.serverTime, !isAheadOfOwn(time, at: now) else { return false }
    let (ahead, overflow) = time.us.subtractingReportingOverflow(known.us)
    guard !overflow, ahead <= WatermarkPolicy.dayUs else { return false }
    return WatermarkPolicy.greatestPlausible(
      [time], known: known, serverTime: nil, wallUs: now.wallUs)
      != nil
  }

  /// The server's time by answers of this connection, where nothing contradicts it.
  var surely: ServerTime? { clockCheck.surely }

  /// What the server's clock shows now, by the last answer of this connection that has its time.
  private func ownTime(at now: Instant) -> ServerTime? {
    stated.map { stated in
      let sinceMs = now.monotonicMs.saturating(minus: stated.ms)
      return stated.time.saturating(plus: min(max(0, sinceMs), 1 << 50) &* 1_000)
    }
  }

  /// Whether a stamp stands further ahead of the server's own clock than the overlap reaches: a
  /// watermark there would hide what is stamped until then.
  private func isAheadOfOwn(_ time: ServerTime, at now: Instant) -> Bool {
    ownTime(at: now).map { time > $0.saturating(plus: overlapUs) } ?? false
  }

  /// The least that the server's clock shows now: by its time on this connection, else by what
  /// is known of it, and by the device's clock, which may be ahead by some time.
  func timeForSigns(at now: Instant) -> ServerTime? {
    if let own = ownTime(at: now) { return max(own, facts.serverTime ?? .min) }
    let wall = now.wallUs.map { ServerTime(us: $0).saturating(minus: WatermarkPolicy.overlapUsMax) }
    return [facts.serverTime, wall].compactMap { $0 }.max()
  }

  /// The greatest stamp of a page that the other server times bear out.
  func plausibleTime(
    _ ingested: Ingested, stated serverTime: Stamp?, at now: Instant
  ) -> ServerTime? {
    let times = ingested.stamps.map(\.stamp.time.us).ascending().map { ServerTime(us: $0) }
    return WatermarkPolicy.greatestPlausible(
      times, known: facts.serverTime, serverTime: serverTime?.time, wallUs: now.wallUs)
  }

  /// The newest row whose stamp the other server times bear out, or another page has.
  func plausibleTop(
    _ page: Page, from ingested: Ingested, at now: Instant, borneOut: ServerTime?
  ) -> (position: Position, stamp: Stamp)? {
    let stated = page.serverTime
    let times = [plausibleTime(ingested, stated: stated, at: now), borneOut].compactMap { $0 }
    guard let greatest = times.max() else { return nil }
    return ingested.stamps.filter { $0.stamp.time <= greatest }
      .max { $0.position < $1.position }
  }

  // MARK: Learning

  mutating func connect() {
    connection &+= 1
    clockCheck.connect()
    stated = nil
  }

  /// An answer came now.
  mutating func noteAnswer(at now: Instant) { clock = now }

  /// Whether what an answer tells of the server's clock is taken for it.
  mutating func isBorneOut(_ serverTime: Stamp?, shown: ServerTime? = nil) -> Bool {
    guard let serverTime else { return true }
    return clockCheck.isBorneOut(
      serverTime.time, known: timeAtLeast, shown: shown, connection: connection,
      nowMs: clock.monotonicMs)
  }

  /// What a page tells about the server as a whole.
  mutating func learn(_ page: Page, from ingested: Ingested, at now: Instant) {
    facts.largestPage = max(facts.largestPage, ingested.distinct)
    if let stamp = ingested.stamps.last?.stamp { form = stamp }
    // The server's own word on its clock also mends what a lone stamp had set.
    if let serverTime = page.serverTime?.time {
      facts.serverTime = serverTime
      if serverTime == surely { stated = (serverTime, now.monotonicMs) }
      noteClock(serverTime, isStated: true, at: now)
    }
    if let time = plausibleTime(ingested, stated: page.serverTime, at: now) {
      facts.serverTime = max(facts.serverTime ?? .min, time)
      noteClock(time, isStated: false, at: now)
    }
  }

  /// A lone stamp has nothing to bear it out, so a push moves the known server time
  /// on but never sets the first one.
  mutating func learnTime(_ time: ServerTime, at now: Instant) {
    guard facts.serverTime != nil, !isAheadOfOwn(time, at: now) else { return }
    let plausible = WatermarkPolicy.greatestPlausible(
      [time], known: facts.serverTime, serverTime: nil, wallUs: now.wallUs)
    if let plausible {
      facts.serverTime = max(facts.serverTime ?? .min, plausible)
      noteClock(plausible, isStated: false, at: now)
    }
  }

  /// The server's clock is past `time`, or shows it where the server says so.
  private mutating func noteClock(_ time: ServerTime, isStated: Bool, at now: Instant) {
    guard profile.deletionHorizonUs > 0 else { return }
    func ahead(of clockUs: Int64, before: Int64?) -> Int64 {
      let seen = time.us &- clockUs
      return isStated ? seen : max(seen, before ?? seen)
    }
    if let wall = now.wallUs { facts.clockAheadUs = ahead(of: wall, before: facts.clockAheadUs) }
    aheadOfStartUs = ahead(of: now.monotonicMs &* 1_000, before: aheadOfStartUs)
  }

  /// A message that appeared below a watermark shows how late this server commits.
  mutating func noteLateness(_ latenessUs: Int64) {
    if latenessUs > 0 {
      facts.overlapUs = WatermarkPolicy.widened(overlapUs, latenessUs: latenessUs)
    }
  }

  /// Takes the epoch that a page names: nil where it is the known one, else whether there was
  /// another one before.
  mutating func enter(epoch: [UInt8]?, at lsn: UInt64) -> Bool? {
    guard let epoch, epoch != facts.epoch else { return nil }
    let isChange = facts.epoch != nil
    facts.epoch = epoch
    if isChange { facts.restoredLSN = lsn }
    return isChange
  }

  /// The server was found restored in the commit that is being made.
  mutating func noteRestore(at lsn: UInt64) { facts.restoredLSN = lsn }

  /// Nothing is known of how large its pages are.
  mutating func resetPageSize() { facts.largestPage = 0 }

  /// Whether something told of the list of conversations was not read.
  mutating func setNeedsList(_ isNeeded: Bool) { facts.needsList = isNeeded }
}
