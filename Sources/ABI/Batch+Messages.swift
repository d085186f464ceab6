/// A batch of messages: the block that the store has written them in, with the header in front
/// and, behind the bytes, the gaps, the conversation's id and that of an entry.
internal import Base
internal import CTideline
internal import Engine

extension Batch {
  /// Makes a batch of a page, which has no rows from then on.
  static func new(_ page: MessagePage) throws(Failure) -> OpaquePointer {
    guard unsafe MemoryLayout<tl_message>.size == RowPage.rowBytes,
      MemoryLayout<Batch>.stride <= header
    else { throw .internal("a row is not as large as the header's") }
    let name = page.conversation
    let entry = page.coverage.asOfEntry
    let gaps = page.coverage.gaps
    let gapBytes = gaps.count * MemoryLayout<tl_gap>.stride
    let count = page.page.count
    guard
      let block = unsafe page.page.give(
        extra: MemoryLayout<tl_gap>.alignment + gapBytes + name.count + entry.count)
    else { throw .internal("a page was given away twice") }
    // All bytes of a batch are set: a host may copy the whole block.
    let first = unsafe block.end.alignedUp(for: tl_gap.self)
    unsafe block.end.initializeMemory(as: UInt8.self, repeating: 0, count: first - block.end)
    let target = unsafe first.bindMemory(to: tl_gap.self, capacity: gaps.count)
    for (index, gap) in gaps.enumerated() {
      unsafe (target + index).initialize(to: tl_gap(gap))
    }
    unsafe fill(first + gapBytes, name)
    let conversation = unsafe view(first + gapBytes, 0..<name.count)
    let last = unsafe first + gapBytes + name.count
    unsafe fill(last, entry)
    let body = unsafe block.start + header
    for index in 0..<count {
      // The struct of the header takes the place of the row.
      let place = unsafe body + index * RowPage.rowBytes
      let row = unsafe place.assumingMemoryBound(to: MessageRow.self)
      let message = unsafe tl_message(row.pointee, conversation, block.bytes)
      unsafe place.initializeMemory(as: tl_message.self, to: message)
    }
    let coverage = unsafe tl_coverage(
      page.coverage, gaps: target, asOf: view(last, 0..<entry.count))
    let batch = unsafe block.start.bindMemory(to: Batch.self, capacity: 1)
    unsafe batch.initialize(
      to: Batch(
        messages: count, coverage, size: last + entry.count - body))
    return OpaquePointer(batch)
  }
}
