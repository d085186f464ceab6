/// Who has read a message, as servers send it and as it is stored.
///
/// Servers send objects that name a user; a stored set is an array of strings.
/// Both are understood, entries without a usable id are passed over, and a set
/// only ever grows.
internal import Base

/// The ids of a JSON array of `{"user_id": …}` objects or plain strings; empty
/// for anything else.
package func userIDs(inReadBy json: [UInt8]) -> [[UInt8]] {
  parsed(json) ?? []
}

/// A stored set and further users, as a JSON array of ids in the order they came.
///
/// The stored bytes come back unchanged where nothing is new. A stored value that
/// is no array is replaced.
package func mergedReadBy(stored: [UInt8]?, adding: [[UInt8]]) -> [UInt8] {
  let known = stored.flatMap(parsed)
  var all = known ?? []
  var seen = IDSet(all)
  for id in adding where isUserID(id) && !seen.contains(id) {
    seen.insert(id)
    all.append(id)
  }
  if let stored, let known, known.count == all.count { return stored }
  return JSONList(all).closed()
}

/// The users of a `read_by` value; nil where it is no array.
func readers(_ document: Document, node: Document.Node) -> [[UInt8]]? {
  guard document.kind(node) == .array else { return nil }
  var ids: [[UInt8]] = []
  var child = document.firstChild(of: node)
  while let element = child {
    let named = document.member(Name.userID, of: element) ?? element
    if let (id, repaired) = document.unescaped(named), !repaired, isUserID(id) {
      ids.append(id)
    }
    child = document.next(after: element, in: node)
  }
  return ids
}

/// Whether an entry of such a value has another member than its user.
func saysMoreThanUsers(_ document: Document, node: Document.Node) -> Bool {
  guard document.kind(node) == .array else { return false }
  var child = document.firstChild(of: node)
  while let element = child {
    if document.kind(element) == .object, let name = document.firstChild(of: element),
      let value = document.next(after: name, in: element),
      document.next(after: value, in: element) != nil
    {
      return true
    }
    child = document.next(after: element, in: node)
  }
  return false
}

private func parsed(_ json: [UInt8]) -> [[UInt8]]? {
  do {
    let document = try Document(json)
    return readers(document, node: document.root)
  } catch {
    return nil
  }
}

private func isUserID(_ id: [UInt8]) -> Bool {
  !id.isEmpty && id.count <= Limits.idBytesMax
}
