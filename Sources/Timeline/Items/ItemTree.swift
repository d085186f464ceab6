/// An order that is counted: where a node stands among all others, by several weights.
///
/// A treap with links upwards. Its priorities come of a mixer and not of chance, so a run can be
/// replayed. Each node has four weights, and each link knows their sums below it: the place of a
/// node, and the node at a place, cost the height of the tree, whichever weight is counted.
/// Node 0 is nobody.
internal import Base

/// What is counted of a node, or of many.
struct ItemWeights: Equatable, Sendable {
  /// Rows of the window.
  var rows: UInt32 = 0
  /// Items of the list as the host has it.
  var items: UInt32 = 0
  /// Folds of rows that fold together.
  var folds: UInt32 = 0
  /// Splits that are drawn before a row.
  var splits: UInt32 = 0

  mutating func add(_ other: ItemWeights) {
    rows &+= other.rows
    items &+= other.items
    folds &+= other.folds
    splits &+= other.splits
  }

  /// What wraps around here comes back: a sum of what is there is right again.
  mutating func remove(_ other: ItemWeights) {
    rows &-= other.rows
    items &-= other.items
    folds &-= other.folds
    splits &-= other.splits
  }

  subscript(_ kind: ItemTree.Kind) -> Int {
    switch kind {
    case .rows: Int(rows)
    case .items: Int(items)
    case .folds: Int(folds)
    case .splits: Int(splits)
    }
  }
}

struct ItemTree: Sendable {
  enum Kind { case rows, items, folds, splits }

  private struct Node: Sendable {
    var up: UInt32 = 0
    var left: UInt32 = 0
    var right: UInt32 = 0
    var priority: UInt32 = 0
    var own = ItemWeights()
    /// Its own and those of all below it.
    var sum = ItemWeights()
  }

  private var nodes = [Node()]
  private var root: UInt32 = 0
  private var free: [UInt32] = []
  private var dice = Random(seed: 0)
  /// Links followed so far: the cost that tests hold to the change.
  private(set) var visits = 0

  /// Weights of all nodes.
  var total: ItemWeights { nodes[Int(root)].sum }

  /// How many nodes there are room for.
  var capacity: Int { nodes.count }

  var memoryBytes: Int { nodes.capacity * MemoryLayout<Node>.stride }

  func weights(of node: UInt32) -> ItemWeights { nodes[Int(node)].own }

  /// A node that stands nowhere yet.
  mutating func make() -> UInt32 {
    let priority = UInt32(truncatingIfNeeded: dice.next())
    if let node = free.popLast() {
      nodes[Int(node)] = Node(priority: priority)
      return node
    }
    nodes.append(Node(priority: priority))
    return UInt32(truncatingIfNeeded: nodes.count - 1)
  }

  /// Puts a node right before another one, or behind all others for 0.
  mutating func insert(_ node: UInt32, before other: UInt32, _ weights: ItemWeights) {
    nodes[Int(node)].own = weights
    nodes[Int(node)].sum = weights
    var up = other
    if other == 0 {
      guard root != 0 else {
        root = node
        return
      }
      up = rightmost(root)
      nodes[Int(up)].right = node
    } else if nodes[Int(other)].left == 0 {
      nodes[Int(up)].left = node
    } else {
      up = rightmost(nodes[Int(other)].left)
      nodes[Int(up)].right = node
    }
    nodes[Int(node)].up = up
    while up != 0 {
      visits += 1
      nodes[Int(up)].sum.add(weights)
      up = nodes[Int(up)].up
    }
    while case let up = nodes[Int(node)].up, up != 0,
      nodes[Int(up)].priority < nodes[Int(node)].priority
    {
      rise(node)
    }
  }

  /// Takes a node out and forgets it.
  mutating func remove(_ node: UInt32) {
    set(node, ItemWeights())
    while true {
      let (left, right) = (nodes[Int(node)].left, nodes[Int(node)].right)
      if left == 0, right == 0 { break }
      let isLeft =
        right == 0 || left != 0 && nodes[Int(left)].priority >= nodes[Int(right)].priority
      rise(isLeft ? left : right)
    }
    let up = nodes[Int(node)].up
    if up == 0 {
      root = 0
    } else if nodes[Int(up)].left == node {
      nodes[Int(up)].left = 0
    } else {
      nodes[Int(up)].right = 0
    }
    nodes[Int(node)] = Node()
    free.append(node)
  }

  /// Gives a node other weights.
  mutating func set(_ node: UInt32, _ weights: ItemWeights) {
    let old = nodes[Int(node)].own
    if old == weights { return }
    nodes[Int(node)].own = weights
    var up = node
    while up != 0 {
      visits += 1
      nodes[Int(up)].sum.remove(old)
      nodes[Int(up)].sum.add(weights)
      up = nodes[Int(up)].up
    }
  }

  /// The weights of all nodes before this one.
  mutating func before(_ node: UInt32) -> ItemWeights {
    var sum = nodes[Int(nodes[Int(node)].left)].sum
    var below = node
    var up = nodes[Int(node)].up
    while up != 0 {
      visits += 1
      if nodes[Int(up)].right == below {
        sum.add(nodes[Int(up)].own)
        sum.add(nodes[Int(nodes[Int(up)].left)].sum)
      }
      below = up
      up = nodes[Int(up)].up
    }
    return sum
  }

  /// The node that has the place `index` among those of a kind, whose weight is 1; 0 for none.
  mutating func node(_ kind: Kind, at index: Int) -> UInt32 {
    guard index >= 0, index < total[kind] else { return 0 }
    var rest = index
    var node = root
    while node != 0 {
      visits += 1
      let left = nodes[Int(node)].left
      let below = nodes[Int(left)].sum[kind]
      if rest < below {
        node = left
        continue
      }
      rest -= below
      let own = nodes[Int(node)].own[kind]
      if rest < own { return node }
      rest -= own
      node = nodes[Int(node)].right
    }
    return 0
  }

  /// The next node, whatever its weights; 0 behind the last one.
  mutating func next(_ node: UInt32) -> UInt32 {
    if nodes[Int(node)].right != 0 { return leftmost(nodes[Int(node)].right) }
    var below = node
    var up = nodes[Int(node)].up
    while up != 0, nodes[Int(up)].right == below {
      visits += 1
      below = up
      up = nodes[Int(up)].up
    }
    return up
  }

  private mutating func leftmost(_ node: UInt32) -> UInt32 {
    var node = node
    while nodes[Int(node)].left != 0 {
      visits += 1
      node = nodes[Int(node)].left
    }
    return node
  }

  private mutating func rightmost(_ node: UInt32) -> UInt32 {
    var node = node
    while nodes[Int(node)].right != 0 {
      visits += 1
      node = nodes[Int(node)].right
    }
    return node
  }

  /// Turns a node and the one above it around.
  private mutating func rise(_ node: UInt32) {
    visits += 1
    let up = nodes[Int(node)].up
    let top = nodes[Int(up)].up
    let inner: UInt32
    if nodes[Int(up)].left == node {
      inner = nodes[Int(node)].right
      nodes[Int(up)].left = inner
      nodes[Int(node)].right = up
    } else {
      inner = nodes[Int(node)].left
      nodes[Int(up)].right = inner
      nodes[Int(node)].left = up
    }
    if inner != 0 { nodes[Int(inner)].up = up }
    nodes[Int(up)].up = node
    nodes[Int(node)].up = top
    if top == 0 {
      root = node
    } else if nodes[Int(top)].left == up {
      nodes[Int(top)].left = node
    } else {
      nodes[Int(top)].right = node
    }
    nodes[Int(node)].sum = nodes[Int(up)].sum
    var sum = nodes[Int(up)].own
    sum.add(nodes[Int(nodes[Int(up)].left)].sum)
    sum.add(nodes[Int(nodes[Int(up)].right)].sum)
    nodes[Int(up)].sum = sum
  }
}
