/// What a book is made of: entries in one order, and links between neighbours.

/// The part of a place that the server tells: a time, a number, or nothing.
package protocol BookKey: Comparable, Hashable, Sendable {
  /// The least greater key; nil where a request can draw no boundary between keys.
  var next: Self? { get }
}

/// Microseconds, units of a printed time, or numbers of the server.
extension Int64: BookKey {
  package var next: Int64? { self < .max ? self + 1 : nil }
}

/// The key of all entries of a log: only pages tell their order.
package enum LogKey: BookKey {
  case only

  package var next: LogKey? { nil }

  package static func < (a: LogKey, b: LogKey) -> Bool { false }
}

/// Where an entry is: rows of a key are above the mark of that key.
package enum BookPlace<Key: BookKey>: Hashable, Comparable, Sendable {
  case start
  /// The boundary that a request drew: everything of this key is above it.
  case mark(Key)
  case row(Key)
  case present

  package var key: Key? {
    switch self {
    case .mark(let key), .row(let key): key
    case .start, .present: nil
    }
  }

  package var isMark: Bool {
    if case .row = self { return false }
    return true
  }

  package static func < (a: BookPlace, b: BookPlace) -> Bool {
    switch (a, b) {
    case (.start, .start), (.present, _), (_, .start): false
    case (.start, _), (_, .present): true
    case (.mark(let a), .mark(let b)), (.row(let a), .row(let b)), (.row(let a), .mark(let b)):
      a < b
    case (.mark(let a), .row(let b)): a <= b
    }
  }
}

/// What is known between an entry and the next one.
package enum BookLink: Sendable, Comparable {
  /// The server may have others there.
  case none
  /// Nothing is missing, and nobody has told the order: both are of one key.
  case set
  /// They are neighbours on the server.
  case neighbour
}

/// A row, an item that could not be read, or a mark.
package struct BookEntry<Key: BookKey>: Sendable {
  /// The row's local number. Marks have none and are told apart by their places.
  package let name: Int
  package var place: BookPlace<Key>
  package var link = BookLink.none
  /// A page lacked it: it is shown, and nothing is claimed of it.
  package var isOut = false
  /// Its place among the rows of its key is a guess, as no page has shown it.
  package var isGuess = true
  package let isUnreadable: Bool
  /// How many requests had been made when it came.
  package let came: Int
  /// A page that told the order has shown it.
  package var isOrdered = false

  package var isMark: Bool { place.isMark }

  init(name: Int, place: BookPlace<Key>, isUnreadable: Bool = false, came: Int = 0) {
    (self.name, self.place, self.isUnreadable, self.came) = (name, place, isUnreadable, came)
  }

  /// Tells entries apart.
  var tag: BookTag<Key> { isMark ? .mark(place) : .row(name) }
}

enum BookTag<Key: BookKey>: Hashable {
  case row(Int)
  case mark(BookPlace<Key>)
}

/// One element of a page, oldest first, or one of its ends.
package enum ChainItem<Key: BookKey>: Sendable {
  case row(Int, Key)
  /// It has no key of its own that could be believed.
  case unreadable(Int)
  case start
  case mark(Key)
  case present

  /// Where it is; nil for what has no key of its own.
  var place: BookPlace<Key>? {
    switch self {
    case .row(_, let key): .row(key)
    case .unreadable: nil
    case .start, .mark, .present: mark
    }
  }

  /// The place of what is no row.
  var mark: BookPlace<Key>? {
    switch self {
    case .row, .unreadable: nil
    case .start: .start
    case .mark(let key): .mark(key)
    case .present: .present
    }
  }
}

/// When a page was requested, and whether its order inside one key is the server's.
package struct PageFacts: Sendable {
  /// The number of the request.
  package var asked: Int
  /// Rows that are new with it came at this number.
  package var came: Int
  package var isOrdered = true

  package init(asked: Int, came: Int, isOrdered: Bool = true) {
    (self.asked, self.came, self.isOrdered) = (asked, came, isOrdered)
  }
}

/// Rules that a test breaks on purpose. Nothing else sets them.
package struct BookFaults: OptionSet, Sendable {
  package let rawValue: Int
  package init(rawValue: Int) { self.rawValue = rawValue }

  /// B1: the entries of a page do not become neighbours across two keys.
  package static let pagesDoNotLink = BookFaults(rawValue: 1 << 0)
  /// B2: what a page lacks stays where it is, linked.
  package static let absentStays = BookFaults(rawValue: 1 << 1)
  /// B3: a row that came after the request is linked like the others.
  package static let laterDoesNotCut = BookFaults(rawValue: 1 << 2)
  /// B4: the known end of a page loses its outer link.
  package static let endsLoseLinks = BookFaults(rawValue: 1 << 3)
  /// B5: a link stays when another entry has become the neighbour.
  package static let linksStay = BookFaults(rawValue: 1 << 4)
  /// B6: an island between the rows of a page counts as absent, whether a place is open or not.
  package static let guessesAreAbsent = BookFaults(rawValue: 1 << 5)
  /// B7: islands too say where the rows of a key are.
  package static let islandsOrder = BookFaults(rawValue: 1 << 6)
  /// B8: a push is linked where it falls.
  package static let pushesLink = BookFaults(rawValue: 1 << 7)
  /// B9: a named predecessor joins wherever it is.
  package static let predecessorsJoin = BookFaults(rawValue: 1 << 8)
  /// B10: a boundary above what is settled is linked to what was newest.
  package static let unsettledMarksLink = BookFaults(rawValue: 1 << 9)
  /// B11: a purge leaves its neighbours linked.
  package static let purgeKeepsLinks = BookFaults(rawValue: 1 << 10)
  /// B11: a purge opens no set.
  package static let purgeKeepsSets = BookFaults(rawValue: 1 << 11)
  /// B12: what cannot be read is not there.
  package static let unreadableIsNothing = BookFaults(rawValue: 1 << 12)
  /// B13: a page that tells the order leaves a set at its end as it is.
  package static let setsStay = BookFaults(rawValue: 1 << 13)
}
