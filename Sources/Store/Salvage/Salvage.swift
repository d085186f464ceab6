/// What the sound pages of a file say, read without its indexes and written into a new one.
///
/// Rule protected: every row on a sound page is saved: what only this device has, and messages.
/// Where a row may be lost nothing is called complete, so there is a gap, as everywhere else, until
/// the server has shown it. Two pages may say what cannot be together, where an older one was put
/// back; the later row stays, and nothing is called complete of its conversation.
internal import Base
internal import Vault

/// What a salvage has found.
package struct Salvaged: Equatable, Sendable {
  package var pages: UInt64 = 0
  package var lostPages: UInt64 = 0
  package var messages: UInt64 = 0
  package var operations: UInt64 = 0
  /// Those that the file of own work had, and no page.
  package var putBack: [UInt64] = []
}

/// What a salvage is told.
struct SalvageOrder {
  let binding: Schema.Binding
  /// What lies beside the file.
  let own: OwnContents
  /// No number of the new file is below these.
  var floor = Counters()
  /// What contradicts something; nil where it was not looked for.
  var known: Contradictions?
  /// A file without this commit is refused.
  var least: UInt64 = 0
  /// A page that the disk cannot read is lost like one that does not open.
  var skipsUnreadable = false
}

final class Salvage {
  private enum Stage {
    case owners(Int)
    case rows(Int)
    case closing
    case done
  }

  /// Pages of a step, and of a transaction of the new file.
  private static let stepPages = 64
  private static let transactionPages = 4_096
  private static let conversationIndex = bytes("sqlite_autoindex_conversation_1")

  private let pages: PageReader
  let connection: Connection
  private let order: SalvageOrder
  private let tables: [SalvageTable]
  private var owners: PageOwners
  private var stage = Stage.owners(1)
  private var isCurrent = true
  private var hasMeta = false
  private var lostPages: [Int] = []
  var loss = SalvageLoss()
  /// Ids of conversations, from the index, for rows that are lost.
  private var names: [(name: [UInt8], cid: Int64)] = []
  /// What the file had of own work.
  private var stamp: OwnStamp
  /// Its last commit.
  private var last: UInt64 = 0
  private(set) var found = Salvaged()

  /// Begins to write what `pages` have into a new file.
  init(
    _ pages: PageReader, into connection: Connection, _ order: SalvageOrder
  ) throws(StoreFailure) {
    self.pages = pages
    self.connection = connection
    self.order = order
    stamp = order.floor.own
    owners = PageOwners(pages: pages.count)
    found.pages = UInt64(clamping: pages.count)
    // It is synced before it has its name, and not before.
    try connection.execute("PRAGMA synchronous = OFF")
    _ = try Schema.prepare(connection, binding: order.binding)
    connection.rollBack()
    tables = try SalvageTable.all(connection)
  }

  var progress: (done: UInt64, total: UInt64) {
    let total = found.pages &* 2
    return switch stage {
    case .owners(let page): (UInt64(clamping: page &- 1), total)
    case .rows(let page): (found.pages &+ UInt64(clamping: page &- 1), total)
    case .closing, .done: (total, total)
    }
  }

  /// A little of it; true when all is done.
  func step() throws(StoreFailure) -> Bool {
    switch stage {
    case .owners(let first):
      let end = Swift.min(first &+ Self.stepPages, pages.count &+ 1)
      for number in first..<end { try noteOwner(number) }
      stage = end > pages.count ? .rows(1) : .owners(end)
      if case .rows = stage {
        try findLoss()
        try connection.run("BEGIN")
      }
    case .rows(let first):
      let end = Swift.min(first &+ Self.stepPages, pages.count &+ 1)
      for number in first..<end { try takeRows(number) }
      stage = end > pages.count ? .closing : .rows(end)
      if end % Self.transactionPages == 1 {
        try connection.run("COMMIT")
        try connection.run("BEGIN")
      }
    case .closing:
      try close()
      stage = .done
    case .done: break
    }
    if case .done = stage { return true }
    return false
  }

  // MARK: Pages

  private func page(_ number: Int) throws(StoreFailure) -> [UInt8]? {
    do throws(VaultFailure) { return try pages.page(number) } catch {
      if order.skipsUnreadable { return nil }
      throw StoreFailure(error)
    }
  }

  private func records(
    _ tree: TreePage, of page: Int
  ) throws(StoreFailure) -> [PageRecord] {
    try tree.records(most: Self.recordBytesMax) { number throws(StoreFailure) in
      number <= pages.count ? try self.page(number) : nil
    }
  }

  private static let recordBytesMax = 64 << 20

  /// Back pointers of SQLite's lie at fixed places, and look like pages of a tree.
  private static func isPointerMap(_ number: Int) -> Bool {
    (number &- 2) % (usableBytes / 5 &+ 1) == 0
  }

  private static let usableBytes = 4_056

  private func noteOwner(_ number: Int) throws(StoreFailure) {
    if number > 1, Self.isPointerMap(number) { return }
    guard let text = try page(number) else {
      found.lostPages &+= 1
      lostPages.append(number)
      return
    }
    if number == 1 {
      let version = text[60..<64].reduce(0 as Int64) { $0 &<< 8 | Int64(clamping: $1) }
      isCurrent = version == Schema.version
    }
    guard let tree = TreePage(text, number: number) else { return }
    owners.note(tree, number: number)
    guard tree.kind == .tableLeaf else { return }
    for record in try records(tree, of: number) where record.values.count == 5 {
      owners.note(schema: record.values)
    }
  }

  /// What the lost pages had, and what else is known to be wrong.
  private func findLoss() throws(StoreFailure) {
    // Frames of the log say of which page they are, and a lost one does not.
    loss.isOfAny = pages.lostFrames > 0 || order.known?.isOfAny ?? false || !isCurrent
    // Something was met, and nobody knows what. Pages of a file that does not open may be those of
    // two states.
    if order.known == nil, lostPages.isEmpty || order.skipsUnreadable { loss.isOfAny = true }
    for cid in order.known?.conversations ?? [] { loss.note(in: cid) }
    for page in lostPages where !loss.isOfAny {
      guard try findParents(of: page) else { continue }
      guard let owner = owners.owner(of: page) else {
        loss.isOfAny = true
        return
      }
      let role = SalvageRole(of: owner)
      if case .nothing = role { continue }
      if case .general = role {
        loss.isOfAny = true
        return
      }
      let (low, high) = try bounds(of: page)
      if case .rows = role, isLog {
        loss.note(rowsFrom: low, to: high)
      } else {
        loss.note(from: low, to: high)
      }
    }
  }

  /// Finds the way up from a lost page; false for one that was free.
  private func findParents(of page: Int) throws(StoreFailure) -> Bool {
    var page = page
    for _ in 0..<32 where !owners.isRoot(page) {
      if let next = owners.parent(of: page) {
        page = next
        continue
      }
      let place = PageUse.place(of: page, usableBytes: Self.usableBytes)
      guard page > 2, place.map <= pages.count, let map = try self.page(place.map),
        let use = PageUse(map, at: place.offset)
      else { return true }
      switch use {
      case .free: return false
      case .root: return true
      case .of(let next):
        owners.note(parent: next, of: page)
        page = next
      }
    }
    return true
  }

  /// Between which rows those of a page are.
  private func bounds(of page: Int) throws(StoreFailure) -> (low: PageKey, high: PageKey) {
    var (low, high): (PageKey?, PageKey?) = (nil, nil)
    var page = page
    for _ in 0..<32 where low == nil || high == nil {
      guard !owners.isRoot(page), let parent = owners.parent(of: page) else { break }
      if let text = try self.page(parent), let tree = TreePage(text, number: parent),
        let index = tree.children.firstIndex(of: page)
      {
        let keys = tree.keys()
        if index > 0, low == nil { low = keys[index &- 1] }
        if index < keys.count, high == nil { high = keys[index] }
      }
      page = parent
    }
    return (low ?? .least, high ?? .greatest)
  }

  private func takeRows(_ number: Int) throws(StoreFailure) {
    if number > 1, Self.isPointerMap(number) { return }
    guard let text = try page(number), let tree = TreePage(text, number: number) else { return }
    let isIndex = tree.kind == .indexLeaf || tree.kind == .indexInterior
    guard isIndex || tree.kind == .tableLeaf else { return }
    let owner = owners.owner(of: number)
    let named = owner.flatMap { owner in tables.first { $0.name == owner } }
    if owner != nil, named == nil, owner != Self.conversationIndex { return }
    for record in try records(tree, of: number) {
      if owner == Self.conversationIndex {
        noteName(record)
      } else {
        _ = try take(record, named)
      }
    }
  }

  /// Takes a record into the table that it is of; false for one that is of none. One whose owner
  /// is wrong or lost is known by its shape.
  private func take(
    _ record: PageRecord, _ named: SalvageTable?
  ) throws(StoreFailure) -> Bool {
    if let named, let row = named.row(record, order: owners.columns(of: named.name)) {
      try put(row, named)
      return true
    }
    for table in tables where table.isDistinct {
      guard record.values.count > 3,
        let row = table.row(record, order: owners.columns(of: table.name))
      else { continue }
      try put(row, table)
      return true
    }
    return false
  }

  private func put(_ row: [StoredValue], _ table: SalvageTable) throws(StoreFailure) {
    if table.name == bytes("meta") {
      try check(row, table)
      hasMeta = true
    }
    let isAlone = try table.put(row, into: connection)
    guard !isAlone, let cid = table.conversation(of: row) else { return }
    // Of two that cannot be together one is of another state, and so is its page.
    loss.note(in: cid)
    guard table.isIndex, table.rival != nil, let number = table.place(of: "number"),
      let rival = row[number].int
    else { return }
    let other = try connection.number("SELECT cid FROM message WHERE number = ?", rival)
    if let other { loss.note(in: other) }
  }

  private func check(_ row: [StoredValue], _ table: SalvageTable) throws(StoreFailure) {
    func value(_ column: StaticString) -> StoredValue? { table.place(of: column).map { row[$0] } }
    guard value("account")?.bytes == binding.account else { throw .mismatch(.account) }
    guard value("user")?.bytes == binding.user else { throw .mismatch(.user) }
    guard value("position_kind")?.int == binding.positionKind else {
      throw .mismatch(.positionKind)
    }
  }

  private func noteName(_ record: PageRecord) {
    guard record.rowid == nil, record.values.count == 2, let name = record.values[0].bytes,
      !name.isEmpty, let cid = record.values[1].int
    else { return }
    names.append((name, cid))
  }

  // MARK: End

  private func close() throws(StoreFailure) {
    for (name, cid) in names {
      // The page may have been another index's since the page above it was written.
      try connection.run(
        """
        INSERT OR IGNORE INTO conversation (cid, id) SELECT ?1, ?2
        WHERE NOT EXISTS (SELECT 1 FROM ref WHERE ref = ?2)
          AND NOT EXISTS (SELECT 1 FROM operation WHERE client_id = ?2)
          AND NOT EXISTS (SELECT 1 FROM alias WHERE name = ?2)
        """, cid, name)
    }
    try dropNameless()
    try settleMeta()
    if !hasMeta || !isCurrent { loss.isOfAny = true }
    try settleConversations()
    try settleFlags()
    try connection.run("COMMIT")
    try connection.run("BEGIN")
    if owners.has("search_state") {
      let last = try connection.number("SELECT last_number FROM meta") ?? 0
      try SearchIndex(connection: connection).create(below: UInt64(clamping: last &+ 1))
    }
    if owners.has("room_state") { try RoomTables(connection: connection).create() }
    try connection.run("COMMIT")
    try putBack()
    func count(_ text: StaticString) throws(StoreFailure) -> UInt64 {
      UInt64(clamping: try connection.number(text) ?? 0)
    }
    found.messages = try count("SELECT count(*) FROM message")
    found.operations = try count("SELECT count(*) FROM operation")
  }

  /// Which conversation these rows are of is lost. A new conversation would get its number, and
  /// what waits would be sent there.
  private func dropNameless() throws(StoreFailure) {
    // Which id one has that the server does not know is also in the operation that makes it.
    try connection.run(
      """
      INSERT OR IGNORE INTO conversation (cid, id, is_pending)
      SELECT cid, client_id, 1 FROM operation WHERE verb = 11 /* createConversation */
        AND state != 4 AND client_id IS NOT NULL AND cid NOT IN (SELECT cid FROM conversation)
      """)
    try connection.run("DELETE FROM message WHERE cid NOT IN (SELECT cid FROM conversation)")
    try connection.run(
      "DELETE FROM operation WHERE cid != 0 AND cid NOT IN (SELECT cid FROM conversation)")
    try connection.run("DELETE FROM draft WHERE cid NOT IN (SELECT cid FROM conversation)")
    try connection.run("DELETE FROM offered WHERE cid NOT IN (SELECT cid FROM conversation)")
    try connection.run("DELETE FROM forgotten WHERE cid NOT IN (SELECT cid FROM conversation)")
    try connection.run("DELETE FROM alias WHERE cid NOT IN (SELECT cid FROM conversation)")
    try connection.run("DELETE FROM span WHERE cid NOT IN (SELECT cid FROM conversation)")
    try connection.run("DELETE FROM tombstone WHERE cid NOT IN (SELECT cid FROM conversation)")
    try connection.run("DELETE FROM quarantine WHERE cid NOT IN (SELECT cid FROM conversation)")
    guard isLog else { return }
    try connection.run("DELETE FROM entry WHERE cid NOT IN (SELECT cid FROM conversation)")
    try connection.run("DELETE FROM log_range WHERE cid NOT IN (SELECT cid FROM conversation)")
    try connection.run("DELETE FROM log_token WHERE cid NOT IN (SELECT cid FROM conversation)")
    try connection.run("DELETE FROM log_fact WHERE cid NOT IN (SELECT cid FROM conversation)")
  }

  var binding: Schema.Binding { order.binding }
  var isLog: Bool { binding.positionKind == LogTables.positionKind }

  private func putBack() throws(StoreFailure) {
    var counters = try Schema.prepare(connection, binding: binding).counters
    if isLog { counters = try cutSpans(counters) }
    found.putBack = try MessageStore.putBack(
      order.own, older: order.own.isAsNew(as: stamp) ? last : nil, into: connection, counters,
      binding)
    connection.rollBack()
    // What it was to follow is lost.
    try connection.run(
      """
      UPDATE operation SET depends = 0
      WHERE depends != 0 AND depends NOT IN (SELECT seq FROM operation)
      """)
  }

  /// What was counted goes on, above all that is stored.
  private func settleMeta() throws(StoreFailure) {
    let newest = try connection.number(
      """
      SELECT max((SELECT lsn FROM meta), (SELECT coalesce(max(lsn), 0) FROM message),
        (SELECT coalesce(max(lsn), 0) FROM operation))
      """)
    last = Swift.max(UInt64(clamping: newest ?? 0), order.floor.lsn)
    if last < order.least { throw .vault(.lost) }
    if stamp == OwnStamp() {
      let row = try connection.statement("SELECT own_lsn, own_opening FROM meta")
      if try row.step() { stamp = OwnStamp(lsn: row.uint(0), opening: row.int(1)) }
    }
    try connection.run(
      """
      UPDATE meta SET cache_form = ?, opening = random(), recent_changes = x'',
        own_opening = random(),
        lsn = 1 + max(lsn, ?, (SELECT coalesce(max(lsn), 0) FROM message),
          (SELECT coalesce(max(lsn), 0) FROM operation)),
        last_number = max(last_number, ?, (SELECT coalesce(max(number), 0) FROM message),
          (SELECT coalesce(max(number), 0) FROM operation)),
        last_operation = max(last_operation, ?, (SELECT coalesce(max(seq), 0) FROM operation)),
        last_change = 1 + max(last_change, ?), event_count = 0
      WHERE one = 1
      """, Schema.cacheForm, order.floor.lsn, order.floor.lastNumber, order.floor.lastOperation,
      order.floor.lastChange)
    try connection.execute(
      """
      UPDATE meta SET trimmed_change = last_change, trimmed_event = last_event, own_lsn = lsn
      WHERE one = 1
      """)
    if isCurrent { try Schema.settleKept(connection) }
    try connection.execute("UPDATE meta SET kept_state = x'' WHERE one = 1")
  }

  /// What operations lay over rows goes where they are lost.
  private func settleFlags() throws(StoreFailure) {
    try connection.run(
      """
      UPDATE message SET flags = flags & ~?1 WHERE flags & ?1 != 0 AND NOT EXISTS
        (SELECT 1 FROM operation WHERE operation.cid = message.cid
          AND operation.target = message.id AND operation.state != 4)
      """, RowFlags.derived.rawValue)
  }
}
