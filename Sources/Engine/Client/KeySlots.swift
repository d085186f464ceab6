/// The keys that open a client's file.
package import Base
internal import Store
internal import Vault

package struct KeySlots {
  private let client: Client

  package init(_ client: Client) { self.client = client }

  /// What a file says of its keys; it may be open.
  package static func read(_ path: String) throws(Failure) -> [SlotView] {
    do throws(VaultFailure) { return try Vault.slots(at: path) } catch { throw Failure(error) }
  }

  package func all() throws(Failure) -> [SlotView] {
    try client.ensureOpen()
    do throws(StoreFailure) {
      if let slots = try client.store.keySlots() { return slots }
    } catch {
      throw Failure(error)
    }
    throw Self.memory
  }

  /// Adds a key, or puts it in the place of that in a slot; gives the slot.
  package func put(_ new: NewSlot, replacing slot: Int?) throws(Failure) -> Int {
    try client.ensureOpen()
    do throws(StoreFailure) {
      if let number = try client.store.putKey(new, replacing: slot) { return number }
    } catch {
      throw Failure(error)
    }
    throw Self.memory
  }

  package func remove(_ slot: Int) throws(Failure) {
    try client.ensureOpen()
    do throws(StoreFailure) {
      if try client.store.removeKey(slot) { return }
    } catch {
      throw Failure(error)
    }
    throw Self.memory
  }

  private static let memory = Failure.unsupported("a client in memory has no keys")
}
