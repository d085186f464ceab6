/// A page on its way into the claims of a conversation, by itself: what it does for the sync that
/// asked for it is a value, and nothing is asked of the engine.
import Base
import Store
import Testing
import Timeline
import Wire

@testable import Engine

@Suite struct PageMergeTests {
  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  private func page(_ items: [String], more: String) throws -> (Page, [UInt8]) {
    let messages = items.map {
      #"{"message_id":"\#($0)","sender_id":"u","created_at":"2026-02-15T22:15:\#($0)","#
        + #""payload":"p"}"#
    }
    let json =
      #"{"type":"get_messages","request_id":"r","status":"ok","#
      + #""data":{"messages":[\#(messages.joined(separator: ","))]\#(more)}}"#
    let frame = try Frame(bytes(json), zoneOffsetMinutes: 0)
    guard case .response(let response) = frame.body, case .page(let page) = response.outcome
    else { throw StoreFailure.broken("no page") }
    return (page, bytes(json))
  }

  /// What a page of these items does in a conversation of which nothing is stored, and the ranges
  /// that it leaves.
  private func merged(
    _ items: [String], more: String = "", into stage: SyncStage,
    _ change: (inout SyncRequest) -> Void = { _ in }
  ) throws -> (outcome: PageOutcome, job: SyncJob, spans: SpanSet) {
    let store = try MessageStore.open(
      StoreConfig(kind: .memory, account: bytes("personal"), user: bytes("me")))
    defer { store.close() }
    let memory = SyncMemory(ServerKnowledge(Profile(), facts: ServerFacts()))
    let (page, frame) = try page(items, more: more)
    var request = SyncRequest(conversation: bytes("a"))
    change(&request)
    var job = SyncJob(id: 1, request: request)
    job.stage = stage
    var ingested = Ingested()
    for case .message(let message) in page.items {
      ingested.items.append(Position(time: message.stamp.timeUs, id: message.id))
    }
    ingested.record(page.items, frame: frame)
    return try store.write { tx throws(StoreFailure) in
      let record = try tx.conversation(creating: bytes("a"))
      var merge = try PageMerge(
        page, of: frame, answer: PageAnswer(issued: 0, asked: 2), to: job,
        at: Instant(monotonicMs: 1), memory, receivesAll: false, record: record, in: tx)
      merge.ingested = ingested
      let outcome = try merge.merge()
      try merge.ranges.flush(record.cid, in: tx)
      return (outcome, merge.job, try tx.spans(record.cid))
    }
  }

  @Test func anEmptyNewestPageIsTheWholeConversation() throws {
    let (outcome, job, spans) = try merged([], into: .catchUp(CatchUp()))
    guard case .whole = outcome else { return #expect(Bool(false), "\(outcome)") }
    #expect(job.isLive && spans.newest?.reachesStart == true)
    // The job's stage is the scheduler's to set.
    guard case .catchUp = job.stage else { return #expect(Bool(false), "it moved on") }
  }

  @Test func aCutPageBelowWhichSomethingIsKnownGoesOn() throws {
    let (outcome, job, _) = try merged(
      ["20", "30"], more: #","has_more":true"#, into: .catchUp(CatchUp(bound: .min)))
    guard case .extended(.catchUp(let next)) = outcome, case .backward(let walk) = next.way
    else { return #expect(Bool(false), "\(outcome)") }
    #expect(walk.pages.low > .min && !job.isLive && next.bound == .min && next.isFresh == true)
  }

  @Test func aMessageThatIsNotOnItsPageIsMissed() throws {
    let stage = SyncStage.gap(GapFill(goal: Goal(), way: .spot(.aroundID(bytes("40")))))
    let missed = try merged(["20", "30"], into: stage) { $0.kind = .at(Array("40".utf8)) }
    guard case .lacksMessage = missed.outcome else {
      return #expect(Bool(false), "\(missed.outcome)")
    }
    #expect(!missed.job.aim.isDone)
    let found = try merged(["20", "40"], into: stage) { $0.kind = .at(Array("40".utf8)) }
    guard case .complete = found.outcome else { return #expect(Bool(false), "\(found.outcome)") }
    #expect(found.job.aim.isDone)
  }
}
