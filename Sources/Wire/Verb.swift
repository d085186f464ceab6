/// The verbs of the protocol and what a request of each must say.
///
/// One table for both sides: what a host may ask for and what the server is sent
/// are the same words, so an operation goes out as it was given.

package enum Verb: UInt8, Sendable, Equatable, CaseIterable {
  // What the sync asks; no operation of the user's.
  case getMessages, getDeletedSince, getChangedSince
  // What the user asks.
  case markRead, markDelivered, markListened, markLastRead, getReceipts
  case sendMessage, editMessage, deleteMessage, reactMessage, unreactMessage
  case pinMessage, unpinMessage
  case getConversations, getConversation, createConversation
  case saveConversation, deleteConversation, leaveConversation
  case addParticipants, removeParticipants, addAdmins, removeAdmins
  case getUnreadCount, getTotalUnreadCount
  case typing, subscribe, unsubscribe, getUserChannel, deleteUserChannels
  // What the sync asks of a server that keeps a log.
  case getEntries

  /// The name on the wire.
  package var name: StaticString {
    switch self {
    case .getMessages: "get_messages"
    case .getDeletedSince: "get_deleted_since"
    case .getChangedSince: "get_changed_since"
    case .markRead: "mark_read"
    case .markDelivered: "mark_delivered"
    case .markListened: "mark_listened"
    case .markLastRead: "mark_last_read"
    case .getReceipts: "get_receipts"
    case .sendMessage: "send_message"
    case .editMessage: "edit_message"
    case .deleteMessage: "delete_message"
    case .reactMessage: "react_message"
    case .unreactMessage: "unreact_message"
    case .pinMessage: "pin_message"
    case .unpinMessage: "unpin_message"
    case .getConversations: "get_conversations"
    case .getConversation: "get_conversation"
    case .createConversation: "create_conversation"
    case .saveConversation: "save_conversation"
    case .deleteConversation: "delete_conversation"
    case .leaveConversation: "leave_conversation"
    case .addParticipants: "add_participants"
    case .removeParticipants: "remove_participants"
    case .addAdmins: "add_admins"
    case .removeAdmins: "remove_admins"
    case .getUnreadCount: "get_unread_count"
    case .getTotalUnreadCount: "get_total_unread_count"
    case .typing: "typing"
    case .subscribe: "subscribe"
    case .unsubscribe: "unsubscribe"
    case .getUserChannel: "get_user_channel"
    case .deleteUserChannels: "delete_user_channels"
    case .getEntries: "get_entries"
    }
  }

  init?(name: [UInt8]) {
    for verb in Verb.allCases where Name.bytes(verb.name) == name {
      self = verb
      return
    }
    return nil
  }

  /// The members that a host must name; nil where it is not the host's to ask for.
  var needs: [Parameter]? {
    switch self {
    case .getMessages, .getDeletedSince, .getChangedSince, .getEntries: nil
    case .markRead, .markDelivered, .markListened: [.conversationID, .messageIDs]
    case .markLastRead, .getReceipts, .deleteMessage, .pinMessage, .unpinMessage:
      [.conversationID, .messageID]
    case .sendMessage: [.conversationID, .payload]
    case .editMessage: [.conversationID, .messageID, .payload]
    case .reactMessage, .unreactMessage: [.conversationID, .messageID, .reaction]
    case .createConversation: [.participantIDs]
    case .getConversation, .saveConversation, .deleteConversation, .leaveConversation,
      .getUnreadCount:
      [.conversationID]
    case .addParticipants, .removeParticipants, .addAdmins, .removeAdmins:
      [.conversationID, .userIDs]
    case .typing: [.conversationID, .event]
    case .getConversations, .getTotalUnreadCount, .subscribe, .unsubscribe, .getUserChannel,
      .deleteUserChannels:
      []
    }
  }
}

/// The members of requests that have a meaning here. All others are the host's.
package enum Parameter: UInt8, Sendable, Equatable, CaseIterable {
  case conversationID, messageID, clientID, replyTo, reaction, channel, title, at
  case messageIDs, userIDs, participantIDs, adminIDs
  case payload, event, limit, offset, includeLastMessage, distinct, direct

  package var name: StaticString {
    switch self {
    case .conversationID: "conversation_id"
    case .messageID: "message_id"
    case .clientID: "client_id"
    case .replyTo: "reply_to"
    case .reaction: "reaction"
    case .channel: "channel"
    case .title: "title"
    case .at: "at"
    case .messageIDs: "message_ids"
    case .userIDs: "user_ids"
    case .participantIDs: "participant_ids"
    case .adminIDs: "admin_ids"
    case .payload: "payload"
    case .event: "event"
    case .limit: "limit"
    case .offset: "offset"
    case .includeLastMessage: "include_last_message"
    case .distinct: "distinct"
    case .direct: "direct"
    }
  }

  var bit: UInt32 { 1 << UInt32(rawValue) }

  init?(name: [UInt8]) {
    for parameter in Parameter.allCases where Name.bytes(parameter.name) == name {
      self = parameter
      return
    }
    return nil
  }
}
