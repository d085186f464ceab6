/// A sync's job by itself: what it asks in each stage, what it keeps when it begins again, and how
/// far it doubts itself.
import Base
import Testing
import Timeline

@testable import Engine

@Suite struct SyncJobTests {
  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  private var job: SyncJob { SyncJob(id: 1, request: SyncRequest(conversation: bytes("a"))) }

  // MARK: Stages

  @Test func aStageThatHasNothingToAskHasNoRequest() {
    var job = job
    #expect(job.wireRequest(limit: 10) == nil)
    #expect(!job.stage.asksPages && !job.stage.selects && !job.stage.isReaching)
  }

  @Test func whatACatchUpKnowsIsGoneWithIt() {
    var job = job
    job.catchUp.bound = .max
    #expect(job.catchUp.bound == nil)
    job.stage = .catchUp(CatchUp(bound: .max))
    #expect(job.catchUp.bound == .max && job.isCatchingUp)
    job.catchUp.left = .min
    job.stage = .asking
    #expect(job.catchUp.left == nil && !job.isCatchingUp)
  }

  @Test func aGoalIsThatOfTheWayToIt() {
    var job = job
    job.goal.isStuck = true
    #expect(!job.goal.isStuck)
    let pages = BackwardPagination(low: .max, above: 7, ties: .unknown)
    job.stage = .gap(GapFill(goal: Goal(), way: .older(BackwardWalk(pages: pages))))
    job.goal.isStuck = true
    #expect(job.goal.isStuck && job.stage.isReaching && job.stage.asksPages)
    #expect(!job.stage.selects && !job.stage.climbs)
    _ = job.wireRequest(limit: 10)
    #expect(job.turn.offset == pages.offset)
    job.stage = .gap(GapFill(goal: job.goal, way: .spot(.aroundID(bytes("m")))))
    _ = job.wireRequest(limit: 10)
    #expect(job.turn.offset == 0 && job.goal.isStuck && job.stage.selects)
  }

  // MARK: Beginning again

  @Test func whatItIsToBringOutlivesABeginning() {
    var job = job
    job.aim.floor = .max
    job.aim.wanted = 3
    job.aim.isDone = true
    job.turn.pages = 5
    job.evidence.total = 9
    job.evidence.trustedSize = true
    job.evidence.suspects = [bytes("m")]
    job.run.issued = 4
    job.caughtUp = .live(left: .min, changesAreDone: true)
    job.stage = .catchUp(CatchUp())
    job.suspicion = .secondLook
    job.beginAgain()
    if case .start = job.stage {} else { Issue.record("it goes on where it was") }
    #expect(job.aim.floor == .max && job.aim.wanted == 3 && job.aim.isDone && job.turn.pages == 5)
    #expect(job.evidence.total == 9 && job.evidence.trustedSize && !job.suspicion.isNone)
    #expect(job.evidence.suspects.isEmpty && job.run.issued == nil)
    #expect(job.caughtUp.isNone && !job.isLive)
    job.beginAnew()
    #expect(!job.aim.isDone && job.aim.wanted == job.request.want && job.aim.floor == .max)
  }

  @Test func changesAreAskedForOnceAfterACatchUp() {
    var result = CatchUpResult.passedOver
    result.noteChanges()
    #expect(!result.changesAreDone && result.left == nil)
    result = .live(left: .max, changesAreDone: false)
    result.noteChanges()
    #expect(result.changesAreDone && result.left == .max)
  }

  // MARK: Suspicion

  /// Itself is doubted once, whenever that is; the ranges twice; then nothing is left.
  @Test(arguments: [0, 1, 2, 3])
  func eachDoubtIsRaisedOnce(secondLookAfter steps: Int) {
    var suspicion = Suspicion.none
    var rises = 0
    for step in 0...3 {
      if step == steps {
        let (first, second) = (suspicion.lookAgain(), suspicion.lookAgain())
        #expect(first && !second && !suspicion.isNone)
      }
      #expect(suspicion.isRevalidation == (rises == 2))
      if suspicion.rise() { rises += 1 }
    }
    let isLookedAt = suspicion.lookAgain()
    #expect(rises == 2 && suspicion.isRevalidation && !isLookedAt)
  }

  // MARK: Pages

  /// Protects: known messages in ever another order are no news, whatever is counted.
  @Test func pagesOfKnownMessagesEndAWalk() {
    var budget = PageBudget()
    var pages = 0
    while pages < 10_000, !budget.isSpent(pagesMax: 1_000) {
      var page = Ingested()
      page.items = [pages % 80, (pages + 1 + pages / 80) % 80].map {
        Position(time: Int64($0), id: bytes("m\($0)"))
      }
      page.distinct = 2
      budget.take(page, total: 1_000_000_000)
      pages += 1
    }
    #expect(pages == 79 + Limits.idleAnswersMax)
  }

  // MARK: Cursors

  private func goOn(_ cursors: inout Cursors, to next: String?, pagesMax: Int) -> Bool {
    cursors.goOn(to: next.map(bytes), isIdle: false, isEmpty: false, pagesMax: pagesMax)
  }

  @Test func aWalkNeverGoesRound() {
    var cursors = Cursors(bytes("1"), left: nil)
    #expect(goOn(&cursors, to: "2", pagesMax: 9))
    #expect(cursors.since == bytes("2") && cursors.first == bytes("1"))
    #expect(!goOn(&cursors, to: "1", pagesMax: 9))
    #expect(cursors.left == nil && cursors.since == bytes("2"))
    #expect(!goOn(&cursors, to: nil, pagesMax: 9))
  }

  @Test func aWalkWithoutAnEndSaysWhereItWasLeft() {
    var cursors = Cursors(bytes("0"), left: nil)
    var count = 0
    while cursors.goOn(to: bytes("\(count + 1)"), isIdle: true, isEmpty: false, pagesMax: .max) {
      count += 1
    }
    #expect(count == Limits.idleAnswersMax - 1)
    #expect(cursors.left == bytes("\(count + 1)"))
    let same = Cursors(bytes("0"), left: LeftCursor(from: bytes("0"), next: bytes("64")))
    #expect(same.since == bytes("64") && same.first == bytes("0"))
    let other = Cursors(bytes("9"), left: LeftCursor(from: bytes("0"), next: bytes("64")))
    #expect(other.since == bytes("9"))
  }

  @Test func aWalkOfTooManyPagesIsLeft() {
    var cursors = Cursors(bytes("0"), left: nil)
    #expect(goOn(&cursors, to: "1", pagesMax: 2))
    #expect(!goOn(&cursors, to: "2", pagesMax: 2))
    #expect(cursors.left == bytes("2"))
  }
}
