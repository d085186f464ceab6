/// What a host may notify of in a log: each message that came after the log was first read up to
/// the present, once, whichever request brought it.
///
/// Judged at rest from the change feed, by what the server had when it gave that first page.
internal import Base

extension LogWorld {
  func checkNews(_ device: LogDevice) throws {
    guard let tideline = device.tideline, let first = device.firstSerial,
      findings.restores == 0, findings.powerCuts == 0, !knobs.autoMarkRead
    else { return }
    var counts: [UInt64: Int] = [:]
    var seq: UInt64 = 0
    while true {
      guard let changes = try tideline.offers(after: seq) else { return }
      guard let last = changes.last else { break }
      for change in changes where change.notifies {
        for number in change.first...change.last { counts[number, default: 0] += 1 }
      }
      seq = last.seq
    }
    let read = Set(
      room.log.filter { $0.act == .read && $0.sender == World.me }.map(\.target))
    var numbers: [String: UInt64] = [:]
    for row in try image(device).rows { numbers[World.text(row.id)] = row.number }
    for message in room.messages where message.sender != World.me && !read.contains(message.id) {
      guard let number = numbers[message.id], room.state(of: message.id)?.isDeleted == false else {
        continue
      }
      let count = counts[number] ?? 0
      if message.serial > first, count != 1 {
        throw Violation("d\(device.number): \(message.id) is new, and is offered \(count) times")
      }
      if message.serial <= knobs.backlog, count > 0 {
        throw Violation("d\(device.number): \(message.id) was there before, and is offered")
      }
    }
  }
}
