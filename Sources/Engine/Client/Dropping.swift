/// Taking one message or one conversation out of the cache, so that it may come anew.
///
/// Rule protected: where a row was taken out nothing is called whole, and nothing remembers it as
/// deleted: the server is asked for it like for all that was never here.
internal import Base
internal import Store
internal import Timeline

extension Client {
  /// Erases a message on this device alone, for good.
  package func forget(conversation: [UInt8], id: [UInt8]) throws(Failure) {
    try check(conversation)
    try check(id)
    try input { engine, _ throws(Failure) in
      let found = try engine.storing { () throws(StoreFailure) in
        try engine.commit { tx throws(StoreFailure) in
          guard let record = try tx.conversation(conversation),
            try tx.forget(id, in: record.cid) != nil
          else { return false }
          return true
        }
      }
      if !found { throw .noMessage }
    }
  }

  /// An empty id is all of the conversation.
  package func drop(conversation: [UInt8], id: [UInt8]) throws(Failure) {
    try check(conversation)
    if !id.isEmpty { try check(id) }
    try input { engine, now throws(Failure) in
      let found = try engine.healing { () throws(StoreFailure) in
        if id.isEmpty { return try engine.drop(conversation, at: now) }
        return try engine.scheme.history.drop(id, of: conversation, at: now, engine)
      }
      if !found { throw id.isEmpty ? .noConversation : .noMessage }
    }
  }
}
