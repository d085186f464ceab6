/// Tideline behind the simulator's protocol, through the engine's facade and nothing else.
///
/// A memory world has no kill. In a file world a kill copies the files as they stand, as kill -9
/// leaves them, closes the old client and opens the copy. The image may be taken at any write call,
/// also in the middle of a commit.
package import Base
internal import Engine
internal import Foundation
internal import TestSupport

package final class TidelineClient: SimulatedClient {
  private let config: ClientConfig
  private(set) var client: Client
  /// Where the files of this generation are; nil for a memory world.
  private var directory: String?
  private let root: String?
  private var generation = 0
  private let disk: FaultVFS?
  let plan = DiskPlan()
  let isSequence: Bool
  let fault: PlantedFault?
  let updateFault: UpdateFault?
  let operationFault: OperationFault?
  var memory = FaultMemory()
  var budget = Budget()
  var work: Work?
  private var purgedBefore = 0
  let keys: SimKeys
  /// Frames of a planted fault.
  var forged: [SimFrame] = []
  var updatesSeen = 0
  let marksRead: Bool
  private var isBlanked = false
  private(set) var isOffline = true
  var marksTaken = 0
  private var (badgesSeen, isNews) = (0, false)

  private static let fileName = "messages.tideline"
  private static let key = HostKey(Array(1...32))

  package let claimsCoverage = true

  package init(knobs: Knobs, clock: VirtualClock) throws {
    isSequence = knobs.sequence
    fault = knobs.fault
    updateFault = knobs.updates.fault
    operationFault = knobs.operations.fault
    keys = SimKeys(opens: knobs.operations.opens)
    var config = ClientConfig(
      file: .memory, account: Array("simulated".utf8), user: Array(World.me.utf8))
    config.profile = Self.profile(knobs)
    marksRead = knobs.autoMarkRead
    config.autoMarkDelivered = knobs.operations.tellsDelivery
    if knobs.operations.seals {
      let keys = keys
      config.seal = { offered in keys.seal(offered.payload) }
      config.open = { offered in keys.open(Array(offered.frame[offered.payload])) }
    }
    (config.requestTimeoutMs, config.requestsMax) = (knobs.timeoutMs, knobs.requestsMax)
    // With 0 a client draws its own, and no world with it would be the same twice.
    config.seed = max(1, knobs.seed)
    config.clock = { clock.instant() }
    config.commits = knobs.commits
    if knobs.usesFile {
      let isThere = FileManager.default.fileExists(atPath: "/dev/shm")
      let base = isThere ? "/dev/shm" : NSTemporaryDirectory()
      let root = "\(base)/tideline-sim-\(getpid())-\(UUID().uuidString)"
      self.root = root
      let disk = VFSPool.take()
      self.disk = disk
      config.baseVFS = disk.name
      if VFSPool.isStorage { config.storage = FileStorage(over: disk.name) }
      directory = "\(root)/0"
      try FileManager.default.createDirectory(
        atPath: "\(root)/0", withIntermediateDirectories: true)
    } else {
      root = nil
      disk = nil
    }
    self.config = config
    plan.lies = fault == .lyingDisk
    client = try Self.open(config, directory)
    // A new file is made under another name, so what there is now is the beginning.
    guard let directory else { return }
    let files = ["", "-wal"].map { "\(directory)/\(Self.fileName)\($0)" }
    plan.shadow = DiskShadow(DiskImage(paths: files), lies: plan.lies)
    Self.watch(disk, plan)
  }

  private static func profile(_ knobs: Knobs) -> Profile {
    var profile = Profile()
    profile.pageLimit = knobs.pageLimit
    if knobs.declaresTruncates { profile.truncates = knobs.keepsOldest ? .oldest : .newest }
    if knobs.declaresTies { profile.ties = knobs.tiesByID ? .id : .arrival }
    profile.pageSizeVaries = knobs.declaresVarying
    profile.absenceIsDeletion = knobs.absenceIsDeletion
    profile.timeResolutionUs = knobs.declaresResolution ? knobs.resolutionUs : 0
    profile.deletionHorizonUs = knobs.horizonUs
    profile.pushIsLossless = knobs.lossless
    profile.log = log(knobs)
    if knobs.before { profile.capabilities.insert(.before) }
    if knobs.around { profile.capabilities.insert(.around) }
    if knobs.changedSince { profile.capabilities.insert(.changedSince) }
    if knobs.sequence { profile.capabilities.insert(.sequence) }
    if knobs.envelope { profile.capabilities.insert(.envelope) }
    if knobs.operations.idempotent { profile.capabilities.insert(.idempotentSend) }
    profile.idempotencyUs = knobs.strangers.knowsSendsUs
    if knobs.strangers.forgetsSends, profile.idempotencyUs == 0 {
      profile.idempotencyScope = .connection
    }
    #if DEBUG
      let planted = knobs.strangers.fault ?? knobs.logFault
      profile.planted = planted.flatMap { EngineFault(rawValue: $0) }
    #endif
    return profile
  }

  private static func open(_ config: ClientConfig, _ directory: String?) throws -> Client {
    var config = config
    if let directory {
      config.file = .path("\(directory)/\(fileName)", key: key, create: true, strict: false)
    }
    let client = try Client.open(config)
    // A kill or a power cut is none.
    if try client.state().isLogLost { throw Violation("a loss of the log") }
    return client
  }

  // MARK: Turn

  package func connected() throws {
    (isOffline, marksTaken) = (false, 0)
    try client.connected()
  }
  package func disconnected() throws {
    isOffline = true
    try client.disconnected()
    try spoilDisconnect()
  }

  package func receive(_ bytes: [UInt8]) throws -> SimReceipt {
    var frame = bytes
    isNews = true
    if let updateFault, let receipt = try receive(&frame, with: updateFault) { return receipt }
    guard let fault else { return try take(frame) }
    if fault == .lostDeletions { frame = Frames.withoutDeletions(frame) }
    if fault == .lostList { frame = Frames.withoutLongList(frame) }
    isBlanked = fault == .blankedCache && Frames.isContradicted(frame)
    defer { if fault == .markedByPush { markPushed(frame) } }
    return try receive(frame, with: fault) ?? take(frame)
  }

  func take(_ bytes: [UInt8]) throws -> SimReceipt {
    let receipt: Receipt
    do {
      receipt = try client.receive(bytes)
    } catch {
      if case .mismatch = error { return .foreign }
      throw error
    }
    switch receipt {
    case .applied: return .applied
    case .ignored: return .ignored
    case .quarantined: return .quarantined
    }
  }

  /// What a planted fault makes of a frame; nil where it still reaches the client.
  private func receive(_ bytes: [UInt8], with fault: PlantedFault) throws -> SimReceipt? {
    guard Frames.type(bytes) == "update", let ref = Frames.string("ref", bytes) else { return nil }
    updatesSeen += 1
    if fault == .replyWithoutEffect, updatesSeen % 3 == 0 {
      let reply = "{\"account\":\"simulated\",\"type\":\"reply\",\"payload\":{\"ref\":\"\(ref)\"}}"
      forged.append(SimFrame(id: 1 << 62, bytes: Array(reply.utf8)))
      return .applied
    }
    if fault == .doubledUpdate {
      let text = World.text(bytes)
      let other = text.replacingOccurrences(of: "\"\(ref)\"", with: "\"\(ref)-\(updatesSeen)\"")
      _ = try take(Array(other.utf8))
    }
    return nil
  }

  package func nextFrame() throws -> SimFrame? {
    if let frame = forged.popLast() { return frame }
    return try client.nextFrame().map { spoiled(translated(SimFrame(id: $0.id, bytes: $0.bytes))) }
  }

  package func frameSent(_ id: UInt64) throws { _ = try client.frameSent(id) }
  package func advance() throws -> Int64 { restless(try rested().advance()) }

  // MARK: Syncs

  package func syncLatest(_ conversation: [UInt8]) throws -> UInt64 {
    try client.sync(marking(SyncRequest(conversation: conversation)))
  }

  package func syncOlder(_ conversation: [UInt8], want: Int) throws -> UInt64 {
    try client.sync(marking(SyncRequest(conversation: conversation, kind: .older, want: want)))
  }

  package func cancel(_ sync: UInt64) throws { _ = try client.cancel(sync) }

  package func progress(_ sync: UInt64) throws -> SimProgress {
    let status = try client.syncStatus(sync)
    guard status.phase == .ended else {
      return SimProgress(outcome: .pending, requests: status.requests)
    }
    let outcome = status.trouble.map { SimOutcome.failed("\($0)") } ?? .ok
    return SimProgress(outcome: outcome, requests: status.requests)
  }

  // MARK: Reading and acting

  package func page(_ conversation: [UInt8], limit: Int) throws -> SimPage {
    let page = try client.messages(MessageQuery(conversation: conversation, limit: limit))
    let all = page.rows.map { spoiled(Self.row($0, page, isSequence: isSequence)) }
    let sent = all.prefix { !$0.isPending }
    let pending = Array(all.dropFirst(sent.count))
    let shown = shuffled(sent.filter { operationFault != .leftOutSealed || !$0.isSealed })
    let rows = withoutPurged(shown)
    if let row = pending.first(where: { !$0.isPending }) {
      throw Violation("\(World.text(row.id)) stands behind what is pending")
    }
    let gaps = spoiled(gaps: page.coverage.gaps.map { min($0.beforeRow, rows.count) }, rows.count)
    return SimPage(
      rows: isBlanked ? [] : rows, pending: pending, gapsBefore: isBlanked ? [0] : gaps,
      reachesStart: page.coverage.stop == .start)
  }

  /// Rows of one time in another order, where that fault is planted.
  private func shuffled(_ rows: [SimRow]) -> [SimRow] {
    let order: ([SimRow]) -> [SimRow]
    switch fault {
    case .tiesByID: order = { $0.sorted { $0.id.lexicographicallyPrecedes($1.id) } }
    case .tiesReversed: order = { $0.reversed() }
    case .tiesTurned: order = { $0.suffix(1) + $0.dropLast() }
    case .tiesTurnedForAMoment where isNews:
      isNews = false
      order = { $0.reversed() }
    default: return rows
    }
    var result: [SimRow] = []
    var group: [SimRow] = []
    for row in rows {
      if let last = group.last, last.order != row.order {
        result += order(group)
        group = []
      }
      group.append(row)
    }
    return result + order(group)
  }

  private func spoiled(gaps: [Int], _ rows: Int) -> [Int] {
    switch fault {
    case .wholeUnknown where rows == 0: []
    case .falseWhole: gaps.filter { $0 == 0 || $0 == rows }
    default: gaps
    }
  }

  static func row(_ row: MessageRow, _ page: MessagePage, isSequence: Bool) -> SimRow {
    // Most of these are empty.
    func list(_ range: Range<Int>) -> [UInt8] { range.isEmpty ? [] : page[range] }
    let marks = SimMarks(
      pinned: row.flags & pinned != 0, reactions: list(row.reactions), readBy: list(row.readBy),
      deliveredBy: list(row.deliveredBy), listenedBy: list(row.listenedBy))
    let isPending = row.state != .confirmed
    let order = isPending ? .max - 1 : isSequence ? Int64(row.sequence) : row.timeUs
    return SimRow(
      number: row.number, timeUs: row.timeUs, order: order, id: page[row.id],
      sender: page[row.sender], payload: page[row.payload],
      unread: row.flags & unread != 0, unverified: row.flags & unverified != 0,
      isSealed: row.flags & sealed != 0, isDeleted: row.flags & deleted != 0, marks: marks,
      isPending: isPending,
      operation: row.operation, key: row.isRanked ? page[row.key] : nil)
  }

  private static let pinned: UInt32 = 1 << 4
  private static let unread: UInt32 = 1 << 1
  private static let deleted: UInt32 = 1 << 3
  private static let sealed: UInt32 = 1 << 6
  private static let unverified: UInt32 = 1 << 7

  package func markRead(_ conversation: [UInt8], ids: [[UInt8]]) throws {
    try client.markRead(conversation: conversation, ids: ids)
  }

  package func forget(_ conversation: [UInt8], id: [UInt8]) throws {
    try client.forget(conversation: conversation, id: id)
  }

  package func state() throws -> SimState {
    let state = try client.state()
    return SimState(
      busy: state.syncsLeft > 0 || state.requestsInFlight > 0,
      syncsLeft: Int(state.syncsLeft), requests: Int(state.requestsInFlight),
      reconnectWanted: state.reconnectWanted, readsPending: state.readsPending)
  }

  package func changes(after seq: UInt64) throws -> [UInt64]? {
    switch try client.changes(after: seq, limit: 1_000) {
    case .none: []
    case .resync: nil
    case .changes(let changes): changes.map(\.seq)
    }
  }

  /// The count of unread messages in a conversation; nil where it is not known.
  func badge(_ conversation: [UInt8]) throws -> Eyes.Badge? {
    let page: ConversationPage
    do {
      page = try client.conversation(conversation)
    } catch {
      if case .notFound = error { return nil }
      throw error
    }
    guard let row = page.rows.first else { return nil }
    var badge = Eyes.Badge(
      unread: row.unread, isExact: row.flags & ConversationFlags.unreadExact != 0)
    badgesSeen += 1
    if fault == .fallingBadge, badgesSeen % 7 == 0 { badge.unread = max(0, badge.unread - 1) }
    if fault == .unexactForAMoment, isNews, badge.isExact { badge.unread += 1 }
    if fault == .badgeFollowsPurge {
      let purged = try room().purged
      badge.unread = max(0, badge.unread - (purged - purgedBefore))
      purgedBefore = purged
    }
    isNews = false
    return badge
  }

  // MARK: Windows, events and entities

  static func at(_ place: SimPlace) -> At {
    switch place {
    case .latest: .latest
    case .unread: .unread
    case .message(let id): .message(id)
    case .time(let us): .time(us)
    }
  }

  package func openWindow(
    _ conversation: [UInt8], at place: SimPlace, count: Int, rowsMax: Int, holdMs: Int64
  ) throws -> (any SimulatedWindow)? {
    var config = WindowConfig(
      conversation: conversation, at: Self.at(place), count: count, rowsMax: rowsMax)
    config.holdMs =
      fault == .flashingSplit ? 0 : fault == .endlessHold ? min(holdMs * 60, 60_000) : holdMs
    let window: Window
    do {
      window = try client.openWindow(config)
    } catch {
      if case .unsupported = error { return nil }
      throw error
    }
    let seen = TidelineWindow(window, fault, isSequence: isSequence) { [unowned self] in
      spoiled($0)
    }
    seen.hasPurged = { [unowned self] in hasPurged }
    return seen
  }

  package func markListened(_ conversation: [UInt8], ids: [[UInt8]]) throws {
    try client.markListened(conversation: conversation, ids: ids)
  }

  // MARK: Kills

  package var imageTaken: Bool { plan.isTaken }

  package func armKill(afterWrites writes: Int) {
    guard let directory, let root else { return }
    plan.arm(writes: writes, from: directory, to: "\(root)/\(generation + 1)")
  }

  package func killAndReopen() throws {
    guard let directory, let root else { throw Violation("a kill in a memory world") }
    let next = "\(root)/\(generation + 1)"
    if !plan.isTaken { try FileManager.default.copyItem(atPath: directory, toPath: next) }
    if let trouble = plan.trouble { throw Violation("the image could not be taken: \(trouble)") }
    try reopen(directory, next, plan.shadowTaken ?? plan.shadow)
  }

  package func cutPowerAndReopen(_ dice: inout Random) throws -> Bool {
    guard let directory, let root else { return false }
    let next = "\(root)/\(generation + 1)"
    if plan.isTaken { try FileManager.default.removeItem(atPath: next) }
    try FileManager.default.createDirectory(atPath: next, withIntermediateDirectories: true)
    let left = plan.shadow.afterPowerCut(&dice)
    left.write(replacing: directory, with: next)
    try reopen(directory, next, DiskShadow(left, lies: plan.lies))
    return true
  }

  /// Opens the files in `next`; `shadow` says what of them is on the disk for sure, by their
  /// old names.
  private func reopen(_ old: String, _ next: String, _ shadow: DiskShadow) throws {
    generation += 1
    plan.disarm()
    disk?.reset()
    client.close()
    try FileManager.default.removeItem(atPath: old)
    directory = next
    plan.shadow = shadow
    plan.shadow.move(from: old, to: next)
    try refuseStrangers(next)
    Self.watch(disk, plan)
    client = try Self.open(config, next)
    try keepAgain()
  }

  /// Openings that are refused leave each file as it was.
  private func refuseStrangers(_ directory: String) throws {
    let path = "\(directory)/\(Self.fileName)"
    guard FileManager.default.fileExists(atPath: path) else { return }
    let before = try Self.files(directory)
    let stranger = HostKey(fault == .touchedFile ? Array(1...32) : Array(2...33))
    do {
      var other = config
      other.file = .path(path, key: stranger, create: false, strict: false)
      try Client.open(other).close()
      if fault != .touchedFile { throw Violation("the file is opened with another key") }
    } catch Failure.key {}
    do {
      var other = config
      other.file = .path(path, key: Self.key, create: false, strict: false)
      other.account = Array("another".utf8)
      try Client.open(other).close()
      throw Violation("the file is opened for another account")
    } catch Failure.mismatch {}
    try failToRead(path)
    if try Self.files(directory) != before {
      throw Violation("an opening that was refused has changed the files")
    }
  }

  /// A disk that cannot read is no damaged file.
  private func failToRead(_ path: String) throws {
    var own = config
    own.file = .path(path, key: Self.key, create: false, strict: false)
    disk?.failRead(1 + generation % 3)
    defer { disk?.failRead(0) }
    do {
      try Client.open(own).close()
      throw Violation("the file is opened, and the disk could not read")
    } catch let failure as Failure {
      let told = fault == .readAsDamage ? .damaged : failure
      if case .storage = told { return }
      throw Violation("what the disk could not read is \(told)")
    }
  }

  private static func files(_ directory: String) throws -> [String: Data] {
    var found: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
      found[name] = FileManager.default.contents(atPath: "\(directory)/\(name)")
    }
    return found
  }

  /// Every change of the files goes by here before it is done.
  private static func watch(_ disk: FaultVFS?, _ plan: DiskPlan) {
    disk?.onEvent { event in
      if case .write = event.change { plan.countWrite() }
      plan.shadow.note(event)
    }
  }

  package func armDiskFailure(afterWrites writes: Int) {
    disk?.failWrite(writes, count: 1 + writes % 3, .fail(writes % 2 == 0 ? Self.full : Self.failed))
  }

  package func armReadFailure(afterReads reads: Int) {
    disk?.failRead(reads)
  }

  package func mendDisk() {
    disk?.failWrite(1, count: 0, .fail(Self.failed))
  }

  package func isDiskTrouble(_ error: any Error) -> Bool {
    switch error as? Failure {
    case .storage, .full: true
    default: false
    }
  }

  private static let full: Int32 = 13
  private static let failed: Int32 = 10 | (3 << 8)

  package func discard() {
    client.close()
    if let root { try? FileManager.default.removeItem(atPath: root) }
    if let disk { VFSPool.giveBack(disk) }
  }
}
