/// One step from a list to the next, as windows, items and viewports give and take them. Steps are
/// applied in order; rows are counted as the list is after the steps before.
package struct DiffOp: Equatable, Sendable {
  /// The numbers are the header's.
  package enum Kind: Int32, Sendable {
    case insert = 1
    case remove = 2
    case update = 3
    /// The row at `from` is taken out, then put in at `row`.
    case move = 4
  }

  package var kind: Kind
  package var row: Int
  package var from: Int
  package var count: Int

  package init(_ kind: Kind, row: Int, from: Int = 0, count: Int = 1) {
    self.kind = kind
    self.row = row
    self.from = from
    self.count = count
  }
}
