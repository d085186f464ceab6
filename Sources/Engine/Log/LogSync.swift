/// Decides what a sync asks of a server that keeps a log, and takes its answers. Lives for one
/// transaction.
///
/// The walk of the log (`LogWalk`) knows which request is next; here is what it is for, and when it
/// is enough. It names nobody: what others are to do is among the effects.
internal import Base
internal import Store
internal import Timeline
internal import Wire

struct LogSync {
  let tx: WriteTransaction
  var input: LogInput
  /// Pages that a sync asks for at most.
  private let pagesMax: Int

  init(
    _ memory: SyncMemory, _ rules: IngestRules, of record: ConversationRecord,
    in tx: WriteTransaction
  ) throws(StoreFailure) {
    self.tx = tx
    pagesMax = memory.server.profile.pagesMax
    input = try LogInput(memory, rules, of: record, in: tx)
  }

  var book: LogBook<LogRows> { input.book }

  // MARK: What is asked

  /// Decides the first request of a job.
  mutating func begin(_ job: inout SyncJob) throws(StoreFailure) -> Step {
    job.aim.wanted = max(job.aim.wanted, 1)
    job.status.stepBackUs = book.facts.stepUs
    let step = try start(&job)
    try input.finish()
    return step
  }

  /// The next thing that a job is for.
  private mutating func start(_ job: inout SyncJob) throws(StoreFailure) -> Step {
    if case .refresh(let low, let high) = job.request.kind, isLive(job) {
      return try refresh(&job, from: low, to: high)
    }
    if case .marker = job.request.kind, try tx.unreadReader.namedMarker(input.record.cid) == nil,
      try tx.unreadReader.readMarker(input.record.cid) == nil
    {
      // Nobody has said how far the user has read.
      job.stage = .asking
      return .next
    }
    if let row = try doubted(beside: job) { return try reread(row, &job) }
    guard let aim = try aim(of: job) else { return .ended(nil) }
    return try goOn(LogStage(aim, in: book, idle: job.idle), &job)
  }

  /// Asks on, or ends what a job is for and begins with the next.
  mutating func goOn(
    _ stage: LogStage, _ job: inout SyncJob
  ) throws(StoreFailure) -> Step {
    var stage = stage
    job.idle = stage.walk.idle
    if stage.aim.isPresent, try isPresent(since: stage.walk.began) {
      job.caughtUp = .live(left: nil, changesAreDone: true)
      if case .present(stopsAtPage: true) = stage.aim {
        return try continueAfterPresent(&job, stage)
      }
    }
    if try isEnough(stage, job) { return .ended(nil) }
    switch try stage.walk.next(book) {
    case .ended(.done): return try continueAfterPresent(&job, stage)
    case .ended(.notFound):
      if !stage.reread.isEmpty { return try reread(&job, stage) }
      if case .marker = job.request.kind { return .ended(nil) }
      return .ended(.noMessage)
    case .ended(.gap):
      if case .start = stage.aim {
        // A start that cannot be looked at stays as it was claimed; where all was purged, what is
        // there is read anew.
        if book.newest == nil { return try start(&job) }
        return try continueAfterPresent(&job, stage)
      }
      return .ended(.incomplete)
    case .ask(let wanted, let carried):
      guard job.hasPagesLeft, job.turn.pages < pagesMax else { return .ended(.incomplete) }
      var place = wanted
      if case .present(stopsAtPage: true) = stage.aim, stage.requests > 0, case .after = place {
        // Much has come: who waits for the newest is to see that first.
        place = .newest
      }
      stage.ask = input.book.ask(place, carried: carried)
      stage.requests &+= 1
      job.stage = .log(stage)
      return .next
    }
  }

  /// The present was asked for first; what the job is for follows.
  private mutating func continueAfterPresent(
    _ job: inout SyncJob, _ stage: LogStage
  ) throws(StoreFailure) -> Step {
    if !stage.reread.isEmpty { return try reread(&job, stage) }
    if case .start = stage.aim, case .latest = job.request.kind { return try reread(&job, stage) }
    guard stage.aim.isPresent else { return .ended(nil) }
    switch job.request.kind {
    case .latest:
      guard let newest = book.newest, let aim = try start(of: newest) else {
        return try reread(&job, stage)
      }
      return try goOn(LogStage(aim, in: book, idle: job.idle), &job)
    case .older, .above, .time, .near, .below, .refresh: return try start(&job)
    case .live, .at, .marker, .count, .conversations, .all: return .ended(nil)
    }
  }

  /// Unverified entries are read again, one after the other, and not for ever.
  private mutating func reread(
    _ job: inout SyncJob, _ stage: LogStage
  ) throws(StoreFailure) -> Step {
    if let refresh = stage.refresh { return try goOn(refresh, after: stage, &job) }
    switch job.request.kind {
    case .below, .above: return .ended(nil)
    default: break
    }
    var row = try book.table.unclaimed(above: .min)
    let isDone = row == nil
    while let one = row, stage.reread.contains(one.id) {
      row = try book.table.unclaimed(above: one.place)
    }
    guard let row, stage.reread.count < LogWalk.idleMax else {
      return .ended(isDone ? nil : .incomplete)
    }
    return try reread(row, after: stage.reread, &job)
  }

  private mutating func reread(
    _ row: LogRow, after others: [[UInt8]] = [], _ job: inout SyncJob
  ) throws(StoreFailure) -> Step {
    var stage = try LogStage(.entry(row.id), in: book)
    stage.reread = others + [row.id]
    return try goOn(stage, &job)
  }

  /// The unverified entry at which a gap begins: nothing is missing there.
  private func doubted(beside job: SyncJob) throws(StoreFailure) -> LogRow? {
    let row: LogRow?
    switch job.request.kind {
    case .below(let edge):
      row = try book.table.last(below: Self.place(below: edge).saturating(plus: 1), from: .min)
    case .above(let edge):
      row = try book.table.first(above: edge.place.saturating(minus: 1), through: .max)
    default: return nil
    }
    guard let row, isLive(job), !row.isClaimed, let at = book.range(holding: row.place) else {
      return nil
    }
    // The range goes on beyond it: else the gap is one of the log.
    let range = book.ranges[at]
    let isWithin =
      switch job.request.kind {
      case .below(let edge): range.high >= edge.place
      case .above(let edge): edge.key.isEmpty ? range.low < edge.place : range.low <= edge.place
      default: false
      }
    return isWithin && !range.isUnverified ? row : nil
  }

  private func isPresent(since began: UInt64) throws(StoreFailure) -> Bool {
    if let empty = book.facts.empty { return empty.request > began }
    guard let newest = book.newest, let claim = book.ranges[newest].present else { return false }
    return claim.request > began
  }

  /// Whether a walk down or up has brought what it was for.
  private func isEnough(_ stage: LogStage, _ job: SyncJob) throws(StoreFailure) -> Bool {
    let (id, bound): ([UInt8], WalkBound)
    switch stage.aim {
    case .present, .entry, .start: return false
    case .down(let from, let until), .up(let from, let until): (id, bound) = (from, until)
    }
    guard stage.requests > 0 else { return false }
    if bound.isOfTime {
      guard let time = bound.timeUs, let at = try book.range(of: id) else { return false }
      let low = book.ranges[at].low
      let lowest = try book.table.rows(from: low, through: low).first
      return lowest?.entry.timeUs.map { $0 <= time } ?? false
    }
    if let next = bound.next, let at = try book.range(of: id), try book.range(of: next) == at {
      return true
    }
    return job.aim.wanted <= 0
  }

  // MARK: What it is for

  /// Nil where there is nothing to ask for.
  private func aim(of job: SyncJob) throws(StoreFailure) -> LogAim? {
    let isLive = isLive(job)
    switch job.request.kind {
    case .latest: return .present(stopsAtPage: false)
    case .live: return .present(stopsAtPage: true)
    case .count, .conversations, .all: return nil
    case .older:
      guard isLive, let newest = book.newest else { return present(job) }
      if let aim = try start(of: newest) { return aim }
      return try down(from: newest, WalkBound())
    case .below(let edge):
      // The range right above the gap.
      guard let at = book.ranges.firstIndex(where: { !$0.isUnverified && $0.high >= edge.place })
      else {
        return present(job)
      }
      return try down(from: at, WalkBound(next: try top(of: at &- 1)))
    case .above(let edge):
      guard let at = book.ranges.lastIndex(where: { !$0.isUnverified && $0.low < edge.place })
      else {
        return present(job)
      }
      if at == book.newest { return isLive ? nil : present(job) }
      let next = try book.ranges[at...].dropFirst().first.flatMap { range throws(StoreFailure) in
        try book.bottomRow(of: range)?.id
      }
      // Its last entries may be lost, and then they stand apart.
      return try book.bottomRow(of: book.ranges[at]).map {
        .up(from: $0.id, WalkBound(next: next))
      }
    case .at(let id): return .entry(id)
    case .marker: return try tx.unreadReader.namedMarker(input.record.cid).map { .entry($0) }
    case .near(let position): return try near(position)
    case .time(let time):
      guard isLive, let newest = book.newest else { return present(job) }
      return try down(from: newest, WalkBound(timeUs: time))
    case .refresh: return present(job)
    }
  }

  private func isLive(_ job: SyncJob) -> Bool {
    job.isLive || input.memory.live.isLive(input.record.id)
  }

  /// The present goes before what is asked for; once it is there, nothing is to be had.
  private func present(_ job: SyncJob) -> LogAim? {
    job.isLive ? nil : .present(stopsAtPage: true)
  }

  private func top(of index: Int) throws(StoreFailure) -> [UInt8]? {
    guard book.ranges.indices.contains(index) else { return nil }
    return try book.topRow(of: book.ranges[index])?.id
  }

  private func down(from index: Int, _ bound: WalkBound) throws(StoreFailure) -> LogAim? {
    guard book.ranges[index].start == nil else { return nil }
    return try top(of: index).map { .down(from: $0, bound) }
  }

  /// A start that was claimed on an earlier connection: no entry reports what was purged since.
  private func start(of index: Int) throws(StoreFailure) -> LogAim? {
    guard let start = book.ranges[index].start, start.connection < book.facts.connection else {
      return nil
    }
    return try top(of: index).map { .start(of: $0) }
  }

  /// A page around the entry that stands nearest to a position, where that is in no range.
  private func near(_ position: Position) throws(StoreFailure) -> LogAim? {
    let place = position.isPending ? Place.max : position.place
    let rows = book.table
    var found = try rows.first(above: place.saturating(minus: 1), through: .max)
    if found == nil { found = try rows.last(below: place, from: .min) }
    guard let found else { return nil }
    if found.isClaimed, let at = book.range(holding: found.place), !book.ranges[at].isUnverified {
      return nil
    }
    return .entry(found.id)
  }

  // MARK: What is answered

  mutating func take(
    _ page: EntryPage, on stage: LogStage, of job: inout SyncJob, from ingest: Ingest
  ) throws(StoreFailure) -> Step {
    var stage = stage
    job.turn.pages &+= 1
    let entries = try LogEntries(page.items, from: ingest, of: input.record, in: input.book.table)
    if case .after = stage.ask.place { try input.noteUnknownDeletions(entries) }
    let parts = entries.parts(of: page, to: stage.ask)
    let before = input.book.ranges
    let wasPresent = try isPresent(since: stage.walk.began)
    try input.book.noteNews()
    let news = try LogNews(stage.walk, before: book)
    input.book.keeps = [parts.first, parts.first(where: \.isAsked)].compactMap {
      $0?.page.entries.first?.id
    }
    for part in parts where !part.isAsked {
      _ = try input.book.take(part.page, of: part.ask, behind: part.below)
    }
    if let asked = parts.first(where: \.isAsked) {
      try stage.walk.take(asked.page, of: asked.ask, behind: asked.below, into: &input.book)
    }
    input.book.keeps = []
    job.status.stepBackUs = book.facts.stepUs
    job.status.received &+= entries.entries.count
    var isStuck =
      entries.hasHoles
      && before.elementsEqual(input.book.ranges) {
        $0.low == $1.low && $0.high == $1.high && ($0.start == nil) == ($1.start == nil)
      }
    // Which entry is read again next does not go by what the last page showed.
    if !stage.reread.isEmpty { isStuck = false }
    if isStuck { isStuck = try !leadsOn(&stage, behindHoleOf: parts, wasPresent: wasPresent) }
    try input.finish(
      entries, frame: ingest.frame, marksRead: ingest.autoMarkRead,
      listed: entries.entries.compactMap { $0?.id }, news: try news.flags(of: entries, in: book))
    try input.book.noteNews()
    job.status.inserted &+= input.effects.inserted
    job.status.removed &+= input.effects.removed
    if !stage.aim.isPresent { job.aim.wanted &-= input.effects.inserted }
    let step: Step
    if isStuck {
      step = .ended(.incomplete)
    } else if !stage.reread.isEmpty, !parts.contains(where: \.isAsked) {
      // The entry that is read again is a hole.
      step = try reread(&job, stage)
    } else {
      step = try goOn(stage, &job)
    }
    try input.saveFacts()
    return step
  }

  /// Whether there is another way on where nothing came of a page with a hole: the same request
  /// would show no more.
  private func leadsOn(
    _ stage: inout LogStage, behindHoleOf parts: [LogPart], wasPresent: Bool
  ) throws(StoreFailure) -> Bool {
    // The first page that says what the present is.
    if stage.aim.isPresent, !wasPresent, try isPresent(since: stage.walk.began) { return true }
    switch stage.ask.place {
    case .after where stage.walk.turnToNewest(): return true
    // The last entry above the hole, where the token led to it.
    case .before where stage.walk.findsEntries && parts.contains(where: \.isAsked): return true
    default: break
    }
    guard let next = try stage.behindHole(of: parts, in: book) else { return false }
    stage = next
    return true
  }

  /// The server said no. Nil where that is nothing of a log's.
  mutating func refused(
    _ error: ServerError, on stage: LogStage, of job: inout SyncJob
  ) throws(StoreFailure) -> Step? {
    var stage = stage
    switch (error, stage.ask.place) {
    case (.unknownCursor, .before), (.unknownCursor, .after):
      try stage.walk.tokenIsUnknown(stage.ask, in: &input.book)
    case (.unknownCursor, _):
      // None was asked with.
      return .ended(.refused)
    case (.notFound, .around(let id)):
      // What is read again and is nowhere has left the log.
      if !stage.reread.isEmpty { try input.book.lost(id) }
      try stage.walk.isMissing(stage.ask, in: &input.book)
    case (.unsupported, .around):
      // What is on a screen stays as stale as it was.
      if stage.refresh != nil { return .ended(nil) }
      if case .entry = stage.aim, stage.reread.isEmpty {
        return .ended(.unsupported("the server finds no message"))
      }
      stage.walk.isUnsupported()
    default:
      return nil
    }
    try input.finish()
    let step = try goOn(stage, &job)
    try input.saveFacts()
    return step
  }
}
