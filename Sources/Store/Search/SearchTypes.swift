/// What is asked of the index, and what it answers.
package import Base
internal import Text
package import Timeline

package struct SearchRequest: Sendable {
  /// A hit, behind which the next page begins.
  package struct Place: Equatable, Sendable {
    package var timeUs: Int64
    package var number: UInt64

    package init(timeUs: Int64, number: UInt64) {
      self.timeUs = timeUs
      self.number = number
    }
  }

  package var text: [UInt8]
  package var cid: Int64?
  package var sender: [UInt8]?
  package var isMine = false
  package var hasAttachment = false
  /// Server times, the second one not included, but for the last that there is.
  package var fromUs = Int64.min
  package var beforeUs = Int64.max
  package var after: Place?
  /// By relevance, in place of newest first.
  package var isByRelevance = false
  /// The order of the pages before, of which the next hits are asked.
  package var behind: RankedHits?
  package var limit: Int

  package init(_ text: [UInt8], limit: Int) {
    self.text = text
    self.limit = limit
  }
}

package struct SearchHit: Sendable {
  package let cid: Int64
  package let position: Position
  package let place: SearchRequest.Place
  /// Which row of the answer it is; nil where the message is not there, or is not read yet.
  package internal(set) var row: Int?
  /// What the host gave to be searched in place of the payload.
  package var searchable: [UInt8]?
  /// It was found where the page had no room for it.
  var isUnread = false
  /// How often it has each piece, and bytes of its text, where the index has not told it.
  var counts: [UInt8] = []
  var bytes: Int64 = 0
}

/// How far the index is built.
package struct SearchState: Equatable, Sendable {
  /// Numbers of messages when it began, and how many of them were not looked at yet.
  package var total: UInt64
  package var unbuilt: UInt64
  /// Nothing is left to be merged.
  package var isMerged: Bool

  package var isDone: Bool { unbuilt == 0 && isMerged }
}

/// How much of what there is was searched.
package struct SearchCoverage: Equatable, Sendable {
  /// Numbers of messages, and how many of them the build has not looked at; and messages that wait,
  /// more than a search looks through.
  package var total: UInt64 = 0
  package var unbuilt: UInt64 = 0
  /// Messages that are not opened yet, counted up to a bound.
  package var sealed = 0
  /// Conversations of which something is not here.
  package var partial = 0

  package static let sealedMax = 10_000
  static let countMax: Int64 = 10_000
}

package struct SearchAnswer: Sendable {
  /// Why nothing was asked.
  package enum Nothing: Sendable {
    case noWord
    case onlyExclusions
  }

  /// Newest first.
  package internal(set) var hits: [SearchHit] = []
  /// The messages, in the order in which they were read.
  package internal(set) var rows = RowPage()
  /// There are more behind the last one.
  package internal(set) var hasMore = false
  /// How many hits there are, where that is cheap; of a cut order there are more.
  package internal(set) var count: Int?
  /// The order by relevance, where that was asked.
  package internal(set) var ranked: RankedHits?
  package internal(set) var coverage = SearchCoverage()
  /// Bytes of payloads that were looked through beside the index.
  package private(set) var looked = 0
  /// Rows of the index that were read, newest first.
  package internal(set) var read = 0
  let query: Query
  private let names: MemberNames

  init(_ query: Query, names: MemberNames) {
    self.query = query
    self.names = names
  }

  /// What was looked through beside the index, and what was not.
  mutating func note(_ own: UnconfirmedHits) {
    looked = own.look.bytes
    coverage.total &+= UInt64(clamping: own.unread)
    coverage.unbuilt &+= UInt64(clamping: own.unread)
  }

  /// The query was longer than what is asked.
  package var isCut: Bool { query.isCut }

  package var nothing: Nothing? {
    query.nothing.map { $0 == .noWord ? .noWord : .onlyExclusions }
  }

  package var marker: SearchMarker { SearchMarker(query, names) }
}

/// Finds what is to be marked in hits, one after the other.
package struct SearchMarker {
  private let query: Query
  private let names: MemberNames
  private var tokenizer = Tokenizer(.text(.none))

  fileprivate init(_ query: Query, _ names: MemberNames) {
    self.query = query
    self.names = names
  }

  /// What is marked in the payload of a hit, by member and place, or in what was given in its
  /// place; the first 256.
  package mutating func marks(_ payload: [UInt8], _ searchable: [UInt8]?) -> [SearchMark] {
    let texts = searchable.map { MemberTexts(searchable: $0) } ?? MemberTexts(payload, names)
    var marks: [SearchMark] = []
    for member in texts.members {
      let found = Highlights(member.text.span, query, &tokenizer)
      for (utf8, utf16) in zip(found.utf8, found.utf16) {
        if marks.count >= Limits.searchMarksMax { return marks }
        marks.append(SearchMark(member: member.name, utf8: utf8, utf16: utf16))
      }
    }
    return marks
  }
}

/// What is marked in one member of a message.
package struct SearchMark: Equatable, Sendable {
  /// Empty where the payload itself is the text.
  package let member: [UInt8]
  package let utf8: Range<Int>
  package let utf16: Range<Int>
}
