/// The rows of a list in their order, each with its height: an order-statistic tree.
///
/// A treap: ordered by place, and by a drawn priority so that it is balanced whatever is put in. A
/// node knows how many rows are under it and how high they are, so a row is found by its index or
/// by an offset, and the other way round, in O(log n). A run of rows is put in or taken out at
/// once. Nodes lie in an array and never move; 0 is no node.
internal import Base

struct HeightTree: Sendable {
  /// What is known of a row's height.
  enum Knowledge: UInt8, Sendable {
    /// Nothing: the estimate of its class stands for it.
    case none
    /// It was measured once, and may be another one by now.
    case old
    case measured
  }

  struct Node: Sendable {
    fileprivate(set) var left: Int32 = 0
    fileprivate(set) var right: Int32 = 0
    fileprivate(set) var parent: Int32 = 0
    fileprivate let priority: UInt32
    var key: UInt64 = 0
    /// The term of the list's checksum that this row is.
    var term: UInt64 = 0
    fileprivate(set) var height: Int64 = 0
    fileprivate(set) var kind: UInt8 = 0
    fileprivate(set) var knowledge = Knowledge.none
    /// It was taken out by the update under way.
    var isGone = false
    /// The measuring that its height is of; see `HeightTree.measuring`.
    fileprivate var measuring: UInt32 = 0
    /// Rows of the subtree, their known heights, and those without.
    fileprivate(set) var count: Int32 = 0
    fileprivate(set) var known: Int64 = 0
    fileprivate(set) var unknown = ClassCounts()
  }

  private(set) var nodes: [Node]
  private var free: [Int32] = []
  private(set) var root: Int32 = 0
  private(set) var estimates: Estimates
  /// Heights of an earlier measuring are old: the width has changed since.
  private var measuring: UInt32 = 0
  private var random = Random(seed: 0x7669_6577_706F_7274)
  /// Nodes touched so far: the cost that tests hold to the change.
  var work = 0

  init(estimate: Int64, atLeast least: Int64) {
    estimates = Estimates(estimate, atLeast: least)
    nodes = [Node(priority: 0)]
  }

  var count: Int { Int(nodes[Int(root)].count) }

  /// The height of all rows.
  var total: Int64 { height(ofSubtree: root) }

  subscript(node: Int32) -> Node {
    get { nodes[Int(node)] }
    _modify { yield &nodes[Int(node)] }
  }

  /// The height that a row is taken to have.
  func height(_ node: Int32) -> Int64 {
    let row = nodes[Int(node)]
    return row.knowledge == .none ? estimates[row.kind] : row.height
  }

  /// Whether a row is to be measured before it is shown.
  func isMeasured(_ node: Int32) -> Bool {
    let row = nodes[Int(node)]
    // One that is nowhere is no wider on a wider screen.
    return row.knowledge == .measured && (row.measuring == measuring || row.height == 0)
  }

  private func height(ofSubtree node: Int32) -> Int64 {
    let node = nodes[Int(node)]
    return node.known &+ node.unknown.height(estimates)
  }
}

// MARK: Rows

extension HeightTree {
  /// A row that is in no list yet.
  mutating func make() -> Int32 {
    work += 1
    let node = Node(priority: UInt32(truncatingIfNeeded: random.next() >> 32))
    guard let reused = free.popLast() else {
      nodes.append(node)
      return Int32(truncatingIfNeeded: nodes.count - 1)
    }
    nodes[Int(reused)] = node
    return reused
  }

  /// Gives up a row that is in no list any more.
  mutating func release(_ node: Int32) {
    work += 1
    let row = nodes[Int(node)]
    if row.knowledge != .none { estimates.count(row.height, row.kind, by: -1) }
    free.append(node)
  }

  /// Says what a new row is.
  mutating func name(_ node: Int32, key: UInt64, kind: UInt8) {
    nodes[Int(node)].key = key
    // It was summed up as one of class 0.
    if kind == 0 { return }
    nodes[Int(node)].kind = kind
    refresh(node)
  }

  mutating func measure(_ node: Int32, _ height: Int64) {
    let row = nodes[Int(node)]
    if row.knowledge != .none { estimates.count(row.height, row.kind, by: -1) }
    estimates.count(height, row.kind, by: 1)
    estimates.learn(row.kind)
    nodes[Int(node)].height = height
    nodes[Int(node)].knowledge = .measured
    nodes[Int(node)].measuring = measuring
    refresh(node)
  }

  /// A row looks different, so its height may be another one.
  mutating func doubt(_ node: Int32) {
    let row = nodes[Int(node)]
    guard row.knowledge != .none else { return }
    // A row of no height is nowhere, so nobody would ask for it again.
    if row.height == 0 { estimates.count(0, row.kind, by: -1) }
    nodes[Int(node)].knowledge = row.height == 0 ? .none : .old
    refresh(node)
  }

  /// Puts back what `doubt` has changed.
  mutating func restore(_ node: Int32, _ knowledge: Knowledge) {
    let row = nodes[Int(node)]
    if row.knowledge == .none, knowledge != .none { estimates.count(row.height, row.kind, by: 1) }
    nodes[Int(node)].knowledge = knowledge
    refresh(node)
  }

  /// All heights are old from now on.
  mutating func doubtAll() {
    measuring &+= 1
  }

  /// Sums up a row anew, and all that it is under.
  private mutating func refresh(_ node: Int32) {
    var node = node
    while node != 0 {
      pull(node)
      node = nodes[Int(node)].parent
    }
  }
}

// MARK: Runs of rows

extension HeightTree {
  /// Puts new rows in at an index.
  mutating func insert(_ run: [Int32], at row: Int) {
    paste(build(run), at: row)
  }

  /// Takes rows out, as a tree of their own.
  mutating func cut(_ rows: Range<Int>) -> Int32 {
    let (rest, high) = split(root, rows.upperBound)
    let (low, middle) = split(rest, rows.lowerBound)
    root = merge(low, high)
    nodes[Int(root)].parent = 0
    return middle
  }

  /// Puts a tree that was cut out in at an index.
  mutating func paste(_ tree: Int32, at row: Int) {
    let (low, high) = split(root, row)
    root = merge(merge(low, tree), high)
    nodes[Int(root)].parent = 0
  }

  /// The rows of a tree that was cut out, in order.
  mutating func rows(of tree: Int32) -> [Int32] {
    var rows: [Int32] = []
    rows.reserveCapacity(Int(nodes[Int(tree)].count))
    var path: [Int32] = []
    var node = tree
    while node != 0 || !path.isEmpty {
      while node != 0 {
        path.append(node)
        node = nodes[Int(node)].left
      }
      guard let top = path.popLast() else { break }
      work += 1
      rows.append(top)
      node = nodes[Int(top)].right
    }
    return rows
  }

  /// A tree of new rows in their order: each is put at the right end, under the last one that has
  /// a greater priority.
  private mutating func build(_ run: [Int32]) -> Int32 {
    var edge: [Int32] = []
    for node in run {
      var under: Int32 = 0
      while let last = edge.last, nodes[Int(last)].priority < nodes[Int(node)].priority {
        pull(last)
        under = last
        edge.removeLast()
      }
      nodes[Int(node)].left = under
      nodes[Int(node)].right = 0
      if let last = edge.last { nodes[Int(last)].right = node }
      edge.append(node)
    }
    for node in edge.reversed() { pull(node) }
    let top = edge.first ?? 0
    nodes[Int(top)].parent = 0
    return top
  }

  /// The first `count` rows of a tree, and the others.
  private mutating func split(_ tree: Int32, _ count: Int) -> (Int32, Int32) {
    if tree == 0 { return (0, 0) }
    let (left, right) = (nodes[Int(tree)].left, nodes[Int(tree)].right)
    let before = Int(nodes[Int(left)].count)
    var parts: (Int32, Int32)
    if count <= before {
      parts = split(left, count)
      nodes[Int(tree)].left = parts.1
      pull(tree)
      parts.1 = tree
    } else {
      parts = split(right, count - before - 1)
      nodes[Int(tree)].right = parts.0
      pull(tree)
      parts.0 = tree
    }
    nodes[Int(parts.0)].parent = 0
    nodes[Int(parts.1)].parent = 0
    return parts
  }

  /// One tree of two, the first before the second.
  private mutating func merge(_ low: Int32, _ high: Int32) -> Int32 {
    if low == 0 { return high }
    if high == 0 { return low }
    if nodes[Int(low)].priority >= nodes[Int(high)].priority {
      let right = merge(nodes[Int(low)].right, high)
      nodes[Int(low)].right = right
      pull(low)
      return low
    }
    let left = merge(low, nodes[Int(high)].left)
    nodes[Int(high)].left = left
    pull(high)
    return high
  }

  /// Sums up a node from what is under it.
  private mutating func pull(_ at: Int32) {
    work += 1
    var node = nodes[Int(at)]
    let (left, right) = (nodes[Int(node.left)], nodes[Int(node.right)])
    node.count = left.count &+ right.count &+ 1
    node.known = left.known &+ right.known
    node.unknown = left.unknown
    node.unknown.add(right.unknown)
    if node.knowledge == .none {
      node.unknown.add(ClassCounts(one: node.kind))
    } else {
      node.known &+= node.height
    }
    nodes[Int(at)] = node
    if node.left != 0 { nodes[Int(node.left)].parent = at }
    if node.right != 0 { nodes[Int(node.right)].parent = at }
  }
}

// MARK: Finding

extension HeightTree {
  var first: Int32 {
    mutating get { outermost(root, isRight: false) }
  }

  var last: Int32 {
    mutating get { outermost(root, isRight: true) }
  }

  /// The row behind another, 0 behind the last.
  mutating func next(_ node: Int32) -> Int32 { neighbor(node, isRight: true) }

  /// The row before another, 0 before the first.
  mutating func previous(_ node: Int32) -> Int32 { neighbor(node, isRight: false) }

  private func child(_ node: Int32, isRight: Bool) -> Int32 {
    isRight ? nodes[Int(node)].right : nodes[Int(node)].left
  }

  private mutating func outermost(_ node: Int32, isRight: Bool) -> Int32 {
    var node = node
    var under = child(node, isRight: isRight)
    while under != 0 {
      work += 1
      node = under
      under = child(node, isRight: isRight)
    }
    return node
  }

  private mutating func neighbor(_ node: Int32, isRight: Bool) -> Int32 {
    work += 1
    let under = child(node, isRight: isRight)
    if under != 0 { return outermost(under, isRight: !isRight) }
    var node = node
    var parent = nodes[Int(node)].parent
    while parent != 0, child(parent, isRight: isRight) == node {
      work += 1
      node = parent
      parent = nodes[Int(node)].parent
    }
    return parent
  }

  /// The row at an index, 0 where none is.
  mutating func node(at row: Int) -> Int32 {
    guard row >= 0, row < count else { return 0 }
    var row = row
    var node = root
    while node != 0 {
      work += 1
      let before = Int(nodes[Int(nodes[Int(node)].left)].count)
      if row == before { return node }
      if row < before {
        node = nodes[Int(node)].left
      } else {
        row -= before + 1
        node = nodes[Int(node)].right
      }
    }
    return 0
  }

  /// The index of a row.
  mutating func row(_ node: Int32) -> Int {
    var row = Int(nodes[Int(nodes[Int(node)].left)].count)
    var node = node
    var parent = nodes[Int(node)].parent
    while parent != 0 {
      work += 1
      if nodes[Int(parent)].right == node {
        row += Int(nodes[Int(nodes[Int(parent)].left)].count) + 1
      }
      node = parent
      parent = nodes[Int(node)].parent
    }
    return row
  }

  /// The height of all rows before one.
  mutating func offset(_ node: Int32) -> Int64 {
    var offset = height(ofSubtree: nodes[Int(node)].left)
    var node = node
    var parent = nodes[Int(node)].parent
    while parent != 0 {
      work += 1
      if nodes[Int(parent)].right == node {
        offset &+= height(ofSubtree: nodes[Int(parent)].left) &+ height(parent)
      }
      node = parent
      parent = nodes[Int(node)].parent
    }
    return offset
  }

  /// The row that an offset lies in, and the offset of its top: never a row without height, and 0
  /// where none is.
  mutating func find(_ offset: Int64) -> (node: Int32, top: Int64) {
    guard offset >= 0, offset < total else { return (0, 0) }
    var left = offset
    var top: Int64 = 0
    var node = root
    while node != 0 {
      work += 1
      let under = nodes[Int(node)].left
      let before = height(ofSubtree: under)
      if left < before {
        node = under
        continue
      }
      left &-= before
      top &+= before
      let own = height(node)
      if left < own { return (node, top) }
      left &-= own
      top &+= own
      node = nodes[Int(node)].right
    }
    return (0, 0)
  }
}
