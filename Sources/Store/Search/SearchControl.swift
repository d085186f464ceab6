/// What is done with the index as a whole, inside of a transaction.
internal import Base

package struct SearchControl {
  private let index: SearchIndex
  private let numbers: UInt64

  package init(_ transaction: WriteTransaction) throws(StoreFailure) {
    index = SearchIndex(connection: try transaction.connection)
    numbers = transaction.counters.lastNumber
  }

  /// Switches search on; what is stored is then built in steps. False where it was on.
  package func switchOn() throws(StoreFailure) -> Bool {
    if index.isOn { return false }
    try index.create(below: numbers > 0 ? numbers &+ 1 : 0)
    return true
  }

  /// Switches search off and takes the index out of the file. False where it was off.
  package func switchOff() throws(StoreFailure) -> Bool {
    guard index.isOn else { return false }
    try index.drop()
    return true
  }

  /// Throws the index away and begins to build it anew.
  package func rebuild() throws(StoreFailure) {
    if index.isOn { try index.renew() }
  }

  /// Goes on with what is to be done, in about as much as it is told; what there is after that.
  package func work(_ slice: SearchSlice) throws(StoreFailure) -> SearchSlice.Done {
    try index.work(slice)
  }
}
