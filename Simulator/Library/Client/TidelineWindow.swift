/// A window of Tideline behind the simulator's protocol, with the faults that may be planted in it.
internal import Base
internal import Engine
internal import Timeline

final class TidelineWindow: SimulatedWindow {
  private let window: Window
  private let fault: PlantedFault?
  private let isSequence: Bool
  private let spoil: (SimRow) -> SimRow
  private var polls = 0
  private var firstSeen: [[UInt8]: [UInt8]] = [:]
  private var hasLostEnd = false
  private var isAway = false
  var hasPurged: () -> Bool = { false }

  init(
    _ window: Window, _ fault: PlantedFault?, isSequence: Bool,
    spoil: @escaping (SimRow) -> SimRow
  ) {
    self.spoil = spoil
    self.window = window
    self.fault = fault
    self.isSequence = isSequence
  }

  func poll() throws -> SimDiff? {
    polls += 1
    if fault == .deafWindow, polls > 6 { return nil }
    if fault == .lostEnd, !hasLostEnd, polls > 4 { try loseEnd() }
    if fault == .flickeringRow { try flicker() }
    if fault == .purgedOnScreen, polls % 5 == 0, hasPurged() { try losePurged() }
    guard let diff = try window.poll() else { return nil }
    var ops = diff.ops.map(Self.op)
    var checksum = diff.checksum
    switch fault {
    case .lostStep where ops.count > 1: ops.removeLast()
    case .shiftedStep:
      if case .insert(let row, let count)? = ops.last, row > 0 {
        ops[ops.count - 1] = .insert(row: row - 1, count: count)
      }
    case .wrongChecksum where polls % 7 == 0: checksum &+= 1
    default: break
    }
    return SimDiff(
      fromVersion: diff.from, toVersion: diff.to, checksum: checksum, rowCount: diff.rowCount,
      ops: ops)
  }

  private func loseEnd() throws {
    let state = try window.state()
    guard state.isAtEnd, state.waiting == .nothing, state.rowCount > 2 else { return }
    try window.trim(first: 0, count: state.rowCount - 1)
    hasLostEnd = true
  }

  /// The oldest row goes, as by a purge that asks no window.
  private func losePurged() throws {
    let state = try window.state()
    if state.waiting == .nothing, state.rowCount > 2 {
      try window.trim(first: 1, count: state.rowCount - 1)
    }
  }

  /// The newest row is away for one poll.
  private func flicker() throws {
    let state = try window.state()
    if polls % 5 == 0, state.isAtEnd, state.waiting == .nothing, state.rowCount > 2 {
      try window.trim(first: 0, count: state.rowCount - 1)
      isAway = true
    } else if isAway {
      isAway = false
      _ = try window.load(Load(.last, count: 20))
    }
  }

  private static func op(_ op: DiffOp) -> SimOp {
    switch op.kind {
    case .insert: .insert(row: op.row, count: op.count)
    case .remove: .remove(row: op.row, count: op.count)
    case .update: .update(row: op.row, count: op.count)
    case .move: .move(from: op.from, row: op.row)
    }
  }

  func rows(_ first: Int, _ count: Int) throws -> [SimWindowRow] {
    guard let page = try window.rows(first: first, count: count) else { return [] }
    return page.rows.map { view in
      var row = spoil(TidelineClient.row(view, page, isSequence: isSequence))
      if fault == .oldContent {
        row = row.spoiled(payload: firstSeen[row.id])
        firstSeen[row.id] = row.payload
      }
      return SimWindowRow(
        row: row, gapBefore: fault != .hiddenSplit && view.flags & Self.gapBefore != 0,
        healing: view.flags & Self.gapHealing != 0
          || fault == .endlessHealing && view.flags & Self.gapBefore != 0,
        stale: view.flags & Self.stale != 0, gone: view.flags & Self.gone != 0)
    }
  }

  private static let gapBefore: UInt32 = 1 << 8
  private static let gapHealing: UInt32 = 1 << 12
  private static let stale: UInt32 = 1 << 9
  private static let gone: UInt32 = 1 << 11

  func load(_ load: SimLoad, count: Int, pastGaps: Bool) throws -> SimAnswer {
    let kind: Load.Kind =
      switch load {
      case .initial: .initial
      case .last: .last
      case .before(let number): .before(number)
      case .after(let number): .after(number)
      case .around(let place): .around(TidelineClient.at(place))
      }
    return try Self.answer {
      try window.load(Load(kind, count: count, isPastGaps: pastGaps))
    }
  }

  func find(_ id: [UInt8]) throws -> Int? { try window.find(id) }
  func fill(_ row: Int) throws -> SimAnswer { try Self.answer { try window.fill(row: row) } }
  func show(_ first: Int, _ count: Int) throws { try window.show(first: first, count: count) }
  func trim(_ first: Int, _ count: Int) throws { try window.trim(first: first, count: count) }

  private static func answer(_ body: () throws -> Bool) throws -> SimAnswer {
    do {
      return try body() ? .done : .nothing
    } catch let failure as Failure {
      switch failure {
      case .unsupported: return .refused("unsupported")
      case .offline: return .refused("offline")
      default: throw failure
      }
    }
  }

  func state() throws -> SimWindowState {
    let status = try window.state()
    var state = SimWindowState()
    state.version = status.version
    state.checksum = status.checksum
    state.rowCount = status.rowCount
    state.splits = status.splitCount
    state.atStart = status.isAtStart
    state.atEnd = status.isAtEnd || hasLostEnd
    state.gapBefore = status.hasGapBefore && fault != .hiddenGapBefore
    state.gapAfter = status.hasGapAfter && fault != .hiddenGapAfter
    state.isIdle = status.waiting == .nothing
    let trouble = status.trouble.map { " trouble \(Self.text($0))" } ?? ""
    state.text =
      "\(status.isAtStart ? "start " : "")\(status.isAtEnd ? "end " : "")"
      + "waiting \(status.waiting.rawValue)\(trouble)"
    return state
  }

  private static func text(_ trouble: Failure) -> String {
    switch trouble {
    case .incomplete: "incomplete"
    case .notFound: "not found"
    case .refused: "refused"
    case .unavailable: "unavailable"
    case .timeout: "timeout"
    case .offline: "offline"
    case .unsupported: "unsupported"
    case .full: "full"
    case .storage: "storage"
    default: "other"
    }
  }

  func loaded() throws -> [SimSpan] {
    window.loaded.spans.map {
      SimSpan(low: SimPoint($0.low.time, $0.low.key), high: SimPoint($0.high.time, $0.high.key))
    }
  }

  func close() { window.close() }
}
