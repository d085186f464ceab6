/// How many answers a sync takes before it ends, whatever the server goes on to give.
///
/// Rule protected: a sync comes to an end. What it has proven is kept, and the next one goes on
/// from there.
internal import Base
internal import Store
internal import Timeline

/// Pages taken of one list, in one walk through it.
struct PageBudget {
  private var pages = 0
  /// How many different items they held.
  private var items = 0
  /// What the server counted first: a count that grows with each page is none.
  private var total: Int64?
  /// Pages in a row that brought nothing new.
  private var idle = 0
  /// The first and the last messages of the pages taken. A page between two of these is one that
  /// comes again, in whatever order: so there are as many others as messages.
  private var ends: Set<[UInt8]> = []

  /// Takes a page of messages.
  mutating func take(_ page: Ingested, total: Int64?) {
    let first = page.items.first { $0 != nil } ?? nil
    let last = page.items.last { $0 != nil } ?? nil
    var isNew = !page.insertedAt.isEmpty
    for end in [first, last] where ends.insert(end?.id ?? []).inserted { isNew = true }
    take(count: page.distinct, total: total, isNew: isNew)
  }

  /// - Parameters:
  ///   - count: how many different items it holds.
  ///   - isNew: the walk has not come by it before.
  mutating func take(count: Int, total told: Int64?, isNew: Bool) {
    pages += 1
    items += count
    total = total ?? told
    idle = isNew ? 0 : idle + 1
  }

  /// Whether it was the last one.
  ///
  /// Pages overlap, and more arrives while they are read. Where sizes vary, much of a small page is
  /// overlap, and one of a single message joins nothing and costs two more: pages of one to three
  /// messages, each as often, take nearly three times the pages that a count needs.
  func isSpent(pagesMax: Int) -> Bool {
    if idle >= Limits.idleAnswersMax { return true }
    guard let total else { return pages >= pagesMax }
    let page = Int64(max(1, items / max(1, pages)))
    let (whole, rest) = max(0, total).quotientAndRemainder(dividingBy: page)
    let needed = whole + (rest > 0 ? 1 : 0)
    let most = max(needed + Int64(Limits.sparePages), needed * 4)
    return Int64(pages) >= most
  }

  /// Whether it ended for want of news and not of pages.
  var isIdle: Bool { idle >= Limits.idleAnswersMax }
}
