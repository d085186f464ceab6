/// A list that is longer than a list may be: nothing of it is read but what it is about.
///
/// Rule protected: to read it would hold all else up, and to ignore it would lose its content. So
/// it says what has to be requested again.
internal import Base

package struct SkippedList: Equatable, Sendable {
  /// What it is about; each topic has another request.
  package struct Topics: OptionSet, Equatable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    package static let messages = Topics(rawValue: 1 << 0)
    package static let deletions = Topics(rawValue: 1 << 1)
    package static let marks = Topics(rawValue: 1 << 2)
    /// The list of conversations.
    package static let conversations = Topics(rawValue: 1 << 3)
  }

  package let topics: Topics
  /// Which list it was.
  package let list: BadItem.List
  /// Each once; nil where they are more than a list may have.
  package let conversations: [[UInt8]]?
}

extension SkippedList {
  /// What the items of an update were about.
  init(
    _ array: Document.Node, of entity: EntityName, action: Update.Action, in reader: MessageReader
  ) {
    switch entity {
    case .message: topics = action == .delete ? .deletions : [.messages, .marks]
    case .receipt, .reaction, .pin: topics = .marks
    case .conversation: topics = .conversations
    case .typing, .member, .profile: topics = []
    }
    list = .items
    let document = reader.document
    var seen = IDSet()
    var child = topics.isEmpty ? nil : document.firstChild(of: array)
    while let item = child, seen.count <= Limits.listItemsMax {
      if let id = reader.optionalID(Name.conversationID, of: item) { seen.insert(id) }
      child = document.next(after: item, in: array)
    }
    conversations =
      seen.count <= Limits.listItemsMax
      ? Array(seen.all).inByteOrder() : nil
  }

  package init(_ topics: Topics, in conversation: [UInt8], list: BadItem.List) {
    self.topics = topics
    self.list = list
    conversations = [conversation]
  }
}

extension Document {
  /// Whether an array has more elements than a list may have.
  func isTooLong(_ array: Node) -> Bool {
    kind(array) == .array && count(of: array, upTo: Limits.listItemsMax) > Limits.listItemsMax
  }

  /// Whether a set of reactions has: each kind counts, and each of its users.
  func hasTooManyReactions(_ set: Node) -> Bool {
    var count = 0
    var child = firstChild(of: set)
    while let key = child, let users = next(after: key, in: set), count <= Limits.listItemsMax {
      count += 1
      if kind(users) == .array { count += self.count(of: users, upTo: Limits.listItemsMax) }
      child = next(after: users, in: set)
    }
    return count > Limits.listItemsMax
  }
}
