/// Hits that were read and are not in order yet: the newest of them first.

struct SearchHitHeap {
  private var hits: [SearchHit] = []

  var first: SearchHit? { hits.first }

  mutating func insert(_ hit: SearchHit) {
    hits.append(hit)
    var child = hits.count &- 1
    while child > 0 {
      let parent = (child &- 1) / 2
      if hits[child].place < hits[parent].place { return }
      hits.swapAt(child, parent)
      child = parent
    }
  }

  mutating func removeFirst() {
    guard let last = hits.popLast(), !hits.isEmpty else { return }
    hits[0] = last
    var parent = 0
    while true {
      let left = parent &* 2 &+ 1
      guard left < hits.count else { return }
      let right = left &+ 1
      let child =
        right < hits.count && hits[left].place < hits[right].place ? right : left
      if hits[child].place < hits[parent].place { return }
      hits.swapAt(child, parent)
      parent = child
    }
  }
}
