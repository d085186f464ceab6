/// What will happen in a world, ordered by virtual time; equal times keep the order of planning.
struct EventQueue<Event> {
  private struct Entry {
    var timeUs: Int64
    var order: UInt64
    var event: Event

    func isBefore(_ other: Entry) -> Bool {
      timeUs != other.timeUs ? timeUs < other.timeUs : order < other.order
    }
  }

  private var heap: [Entry] = []
  private var planned: UInt64 = 0

  var nextTimeUs: Int64? { heap.first?.timeUs }

  mutating func plan(at timeUs: Int64, _ event: Event) {
    heap.append(Entry(timeUs: timeUs, order: planned, event: event))
    planned += 1
    var index = heap.count - 1
    while index > 0 {
      let parent = (index - 1) / 2
      guard heap[index].isBefore(heap[parent]) else { break }
      heap.swapAt(index, parent)
      index = parent
    }
  }

  mutating func pop() -> (timeUs: Int64, event: Event)? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    return (first.timeUs, first.event)
  }

  private mutating func sink() {
    var index = 0
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2] where child < heap.count {
        if heap[child].isBefore(heap[least]) { least = child }
      }
      if least == index { return }
      heap.swapAt(index, least)
      index = least
    }
  }
}

/// What happens in the worlds of times and numbers.
enum WorldEvent {
  /// A request on its way up, on the connection it was sent on.
  case toServer(connection: Int, bytes: [UInt8])
  /// An answer or push on its way down; `marks` are the ids whose reading it confirms.
  case toDevice(connection: Int, bytes: [UInt8], marks: [String])
  case cut(connection: Int, outageUs: Int64)
  case reconnect
  case serverTurn
  /// One message of a burst that is spread over a second.
  case post(conversation: Int)
  case hostTurn
  case screenTurn
  /// Nothing happens; time passes to here.
  case clockTick
}
