/// The values of search that cross the engine's border.
/// They mirror the structs of the header one to one, without pointers.
package import Base

package struct SearchQuery: Sendable {
  /// What a person typed: any bytes.
  package var text: [UInt8]
  /// Nil for all.
  package var conversation: [UInt8]?
  package var sender: [UInt8]?
  package var isMine = false
  package var hasAttachment = false
  /// Server times, the second one not included.
  package var fromUs = Int64.min
  package var beforeUs = Int64.max
  /// Time and number of the last hit of the page before; number 0 for the first page.
  package var afterUs: Int64 = 0
  package var afterNumber: UInt64 = 0
  package var isByRelevance = false
  /// The order by relevance of the page before; nil for the first page.
  package var behind: HitOrder?
  package var limit = 50
  /// Nothing is marked in what is found.
  package var leavesMarks = false

  package init(_ text: [UInt8]) {
    self.text = text
  }
}

extension SearchQuery {
  /// Of what is asked, whichever page and however many: two queries that differ have one mark by
  /// chance only.
  var mark: UInt64 {
    var mark: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ bytes: some Sequence<UInt8>) {
      for byte in bytes {
        mark = (mark ^ UInt64(truncatingIfNeeded: byte)) &* 0x0000_0100_0000_01B3
      }
    }
    func add(_ number: Int64) {
      mark = checksumTerm(mark, number: UInt64(bitPattern: number))
    }
    for text in [text, conversation ?? [], sender ?? []] {
      add(Int64(clamping: text.count))
      add(text)
    }
    add((isMine ? 1 : 0) | (hasAttachment ? 2 : 0))
    add(fromUs)
    add(beforeUs)
    return mark
  }
}

/// Hits in the order that their first page has fixed: numbers of messages, and how many were given.
package struct HitOrder: Equatable, Sendable {
  package var numbers: [UInt64]
  package var given: Int
  /// There are older hits, which are not ranked.
  package var isCut: Bool
  /// By which the query that was asked is known again.
  package var mark: UInt64
  /// By which the client is known that was asked: the numbers are those of its file.
  package var client: UInt64

  package init(
    numbers: [UInt64], given: Int, isCut: Bool, mark: UInt64, client: UInt64 = 0
  ) {
    self.numbers = numbers
    self.given = given
    self.isCut = isCut
    self.mark = mark
    self.client = client
  }
}

/// What is marked in a member of a message; the member's name lies in the bytes of the page.
package struct HitMark: Sendable {
  package var member: Range<Int>
  package var utf8: Range<Int>
  package var utf16: Range<Int>
}

package struct HitRow: Sendable {
  /// Which of the page's messages it is.
  package var message: Int
  /// In the bytes of the page.
  package var conversation: Range<Int>
  /// What the `open` hook gave to be searched, in the bytes of the page, or empty.
  package var searchable: Range<Int>
  package var marks: [HitMark]
}

/// Hits in the order that was asked, and what was not searched.
package struct HitPage: Sendable {
  package var rows: [HitRow] = []
  package var bytes: [UInt8] = []
  package var messages = RowPage()
  package var hasMore = false
  /// How many hits there are in all, where that is known.
  package var count: Int?
  /// Of an order by relevance.
  package var order: HitOrder?
  package var isCut = false
  package var asksNoWord = false
  package var asksOnlyExclusions = false
  /// Messages that the build has not looked at, of so many.
  package var unbuilt: UInt64 = 0
  package var total: UInt64 = 0
  /// Messages that are not opened yet, counted up to 10,000.
  package var sealed = 0
  /// Conversations of which something is not here.
  package var partial = 0

  package init() {}
}

/// A conversation of which a search does not see all.
package struct UnsearchedView: Equatable, Sendable {
  package var number: UInt64
  package var conversation: [UInt8]
  /// From this server time on nothing is missing; 0 for its beginning, the greatest one where
  /// nothing is known to be whole.
  package var wholeFromUs: Int64
  /// Something of it is not here.
  package var isPartial: Bool
  /// Messages that are not opened yet, counted up to 10,000.
  package var sealed: Int
}

/// How far a piece of long work is.
package struct WorkProgress: Equatable, Sendable {
  package var done: UInt64
  package var total: UInt64
  package var isDone: Bool
}
