/// Which conversations follow the present, by itself; and where walks were left.
import Base
import Testing

@testable import Engine

@Suite struct LiveConversationsTests {
  private let one = Array("a".utf8)
  private let other = Array("b".utf8)

  @Test func whatIsDoubtedWasLive() {
    var live = LiveConversations()
    live.connect(at: 7)
    live.doubt(one)
    #expect(!live.wasLive(one))
    live.markLive(one)
    #expect(live.isLive(one) && live.wasLive(one) && !live.isDoubted(one))
    live.doubt(one)
    #expect(!live.isLive(one) && live.isDoubted(one) && live.wasLive(one))
    live.markLive(one)
    #expect(live.isLive(one) && !live.isDoubted(one))
    live.leave(one)
    #expect(!live.wasLive(one))
  }

  @Test func anotherConnectionHasHeardNothing() {
    var live = LiveConversations()
    #expect(live.receivedSince == nil)
    live.noteCommitted(from: 3)
    #expect(live.receivedSince == nil)
    live.connect(at: 7)
    #expect(live.receivedSince == 7 && live.beganLSN == 7)
    live.markLive(one)
    live.markLive(other)
    live.doubt(other)
    // A subscription moves what is heard whole, not when the connection began.
    live.noteCommitted(from: 9)
    #expect(live.receivedSince == 9 && live.beganLSN == 7)
    live.disconnect()
    #expect(live.receivedSince == nil && !live.isLive(one) && live.isDoubted(other))
    live.connect(at: 12)
    #expect(!live.wasLive(other) && live.beganLSN == 12)
  }

  @Test func anEmptyCacheLeavesTheConnectionAsItIs() {
    var live = LiveConversations()
    live.connect(at: 7)
    live.markLive(one)
    live.removeAll()
    #expect(!live.wasLive(one) && live.receivedSince == 7)
  }

  @Test func aLeftWalkIsTakenOnce() {
    var left = LeftWalks()
    let walk = LeftCursor.Walk(conversation: one, areChanges: false)
    let changes = LeftCursor.Walk(conversation: one, areChanges: true)
    left.leave(walk, at: LeftCursor(from: [1], next: [2]))
    let taken = [left.take(changes), left.take(walk), left.take(walk)]
    #expect(taken.map { $0?.next } == [nil, [2], nil])
  }

  @Test func aLeftListingIsTakenOnceOrForgotten() {
    var left = LeftWalks()
    var listing = Listing()
    let isOver = listing.add([one], count: 1, total: 3, limit: 50)
    #expect(!isOver)
    left.leave(listing)
    var offsets = [left.takeListing().offset, left.takeListing().offset]
    left.leave(listing)
    left.removeListing()
    offsets.append(left.takeListing().offset)
    #expect(offsets == [1, 0, 0])
  }
}
