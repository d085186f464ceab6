/// Placeholder until listened marks arrive.
extension Client {
  package func markListened(conversation: [UInt8], ids: [[UInt8]]) throws(Failure) {}
}
