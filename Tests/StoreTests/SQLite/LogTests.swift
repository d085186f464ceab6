import TestSupport
/// What the log holds behind its valid end.
import Testing

@testable import Store

@Suite struct LogTests {
  /// The power goes: of two commits the first is lost, the second one arrived. Then the first is
  /// done again, which could put the same bytes where it stood, with the second one behind it.
  @Test func whatALossOfPowerTookDoesNotComeBack() throws {
    let disk = FaultVFS()
    let fixture = try Fixture(.file, baseVFS: disk.name)
    let cid = try fixture.conversation()
    fixture.store.close()
    var image = DiskImage(paths: [fixture.path, fixture.path + "-wal"])
    disk.record()
    try fixture.reopen()
    try fixture.apply([message("base", at: 1)], cid)
    let before = disk.events.count
    try fixture.apply([message("first", at: 2)], cid)
    let between = disk.events.count
    try fixture.apply([message("second", at: 3)], cid)
    let events = disk.events
    #expect(before < between && between < events.count)
    for event in events[..<before] + events[between...] { image.apply(event) }

    try opened(image, "1", fixture, disk) { store throws in
      let found = try texts(store, cid)
      #expect(found == ["base"])
      try store.write { tx throws(StoreFailure) in
        _ = try tx.apply(message("first", at: 2), cid, issued: tx.lsn)
      }
      for event in disk.events {
        var moved = event
        moved.path = fixture.path + event.path.dropFirst(fixture.path.count + 1)
        image.apply(moved)
      }
    }
    try opened(image, "2", fixture, disk) { store throws in
      let found = try texts(store, cid)
      #expect(found == ["base", "first"])
    }
  }

  /// Opens an image as another file beside the first one.
  private func opened(
    _ image: DiskImage, _ suffix: String, _ fixture: Fixture, _ disk: FaultVFS,
    _ body: (MessageStore) throws -> Void
  ) throws {
    let path = fixture.path + suffix
    image.write(replacing: fixture.path, with: path)
    var config = fixture.config
    guard case .file(_, let key, _, let strict, let base) = config.kind else { return }
    config.kind = .file(path: path, key: key, create: false, strict: strict, baseVFS: base)
    disk.record()
    let store = try MessageStore.open(config)
    defer { store.close() }
    try body(store)
  }

  private func texts(_ store: MessageStore, _ cid: Int64) throws -> [String] {
    let page = try store.read { rx throws(StoreFailure) in
      try rx.messages(RowQuery(cid: cid, from: .oldest, limit: 9))
    }
    return page.rows.map { String(decoding: page[$0.payload], as: UTF8.self) }
  }
}
