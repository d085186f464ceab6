/// What the user does: operations, uploads, marks, typing.
import CTidelineShared
import Testing
import Tideline

@Suite struct ActTests {
  /// A client of a server that knows a send again by its client id.
  func idempotent(path: String? = nil) throws -> Client {
    var options = Client.Options(path: path, key: path == nil ? [] : key)
    options.profile.capabilities = UInt32(TL_SERVER_IDEMPOTENT_SEND)
    return try Client(options)
  }

  @Test func aMessageIsWrittenOfflineSurvivesAndKeepsItsRow() throws {
    try withFile { path in
      var client: Client? = try idempotent(path: path)
      let sent = try #require(try client?.send("c", #""hello""#, id: "x1"))
      client = nil
      #expect(client == nil)
      let again = try idempotent(path: path)
      let pending = try #require(try again.messages("c").first)
      #expect(pending.number == sent.number && pending.operation == sent.operation)
      #expect(pending.state == tl_message_state(TL_MESSAGE_QUEUED))
      #expect(try again.operations(in: "c", openOnly: true).map(\.verb) == ["send_message"])
      try again.connected()
      try Server.takingMessages().serve(again)
      let row = try #require(try again.messages("c").first)
      #expect(row.number == sent.number && row.id == "s-x1" && row.operation == 0)
      #expect(try again.operation(sent.operation).state == tl_operation_state(TL_OPERATION_SENT))
      #expect(try again.operations(openOnly: true).isEmpty)
    }
  }

  @Test func theUserDecidesAboutWhatWasRefused() throws {
    let client = try idempotent()
    try client.connected()
    let server = Server.takingMessages()
    server.errors["send_message"] = #"{"code":"too_large","message":"no"}"#
    let sent = try client.send("c", #""A""#, id: "x1").operation
    try server.serve(client)
    let refused = try client.operation(sent)
    #expect(refused.state == tl_operation_state(TL_OPERATION_REFUSED))
    #expect(refused.errorCode == "too_large" && refused.errorText == "no")
    server.errors["send_message"] = #"{"code":"too_large","message":"no"}"#
    #expect(try client.retry(sent))
    try server.serve(client)
    #expect(try client.edit(sent, #"{"payload":"a"}"#))
    try server.serve(client)
    #expect(try client.messages("c").map(\.payload) == [#""a""#])
    #expect(try !client.cancel(operation: sent))

    try client.disconnected()
    let request = #"""
      {"type":"edit_message","conversation_id":"c","message_id":"s-x1","payload":"b"}
      """#
    let edit = try client.perform(request).operation
    #expect(try client.messages("c").map(\.payload) == [#""b""#])
    #expect(try client.cancel(operation: edit))
    #expect(try client.messages("c").map(\.payload) == [#""a""#])
    #expect(throws: TidelineError.self) { try client.operation(edit) }
  }

  @Test func anAttachmentIsUploadedByTheHost() throws {
    let client = try idempotent()
    try client.connected()
    let sent = try client.send(
      "c", #""picture""#, id: "x1", attachment: #"{"name":"a.jpg"}"#, flags: TL_PERFORM_UPLOAD
    ).operation
    try Server.takingMessages().serve(client)
    #expect(try client.operation(sent).waiting == tl_operation_wait(TL_WAIT_UPLOAD))
    #expect(try client.progress(sent, permille: 250))
    #expect(try client.messages("c").first?.uploadPermille == 250)
    #expect(try client.uploadFailed(sent, reason: "no route"))
    #expect(try client.operation(sent).errorCode == "upload_failed")
    #expect(try client.operation(sent).errorText == "no route")
    #expect(try client.retry(sent))
    #expect(try client.uploaded(sent, attachment: #"{"url":"u1"}"#))
    #expect(try client.operation(sent).request.contains("u1"))
    try Server.takingMessages().serve(client)
    #expect(try client.messages("c").map(\.id) == ["s-x1"])
    #expect(try !client.progress(sent, permille: 1_000))
  }

  @Test func marksGoOutUntilTheyAreConfirmed() throws {
    let client = try caughtUp([message(1), message(2), message(3)])
    #expect(try client.messages("c").allSatisfy { $0.has(TL_MESSAGE_UNREAD) })
    try client.markRead("c", ["m1", "m2"])
    try client.markDelivered("c", ["m3"])
    try client.markListened("c", ["m2"])
    #expect(try client.state().reads_pending > 0)
    #expect(try client.messages("c").map { $0.has(TL_MESSAGE_UNREAD) } == [false, false, true])
    #expect(try client.message("c", "m2").has(TL_MESSAGE_LISTENED))
    let requests = try Server().serve(client)
    func ids(_ type: String) -> [String] {
      requests.filter { $0.type == type }.flatMap { $0.messageIds ?? [] }
    }
    #expect(Set(ids("mark_read")) == ["m1", "m2"])
    #expect(ids("mark_delivered") == ["m3"])
    #expect(ids("mark_listened") == ["m2"])
    #expect(try client.state().reads_pending == 0)
    #expect(try Server().serve(client).isEmpty)
  }

  @Test func typingIsSentOrDropped() throws {
    let client = try Client()
    #expect(try !client.typing("c"))
    try client.connected()
    try Server().serve(client)
    #expect(try client.typing("c"))
    #expect(try Server().serve(client).map(\.type) == ["typing"])
  }
}
