/// Tells payloads that are for clients from those that are for people, and what a bad item names.
///
/// A payload is often not JSON at all, so anything that cannot be read is an
/// ordinary message: nothing is hidden by accident.

/// Whether a payload is a JSON object with a member `_control` that is not null.
package func hasControlMember(_ json: [UInt8]) -> Bool {
  guard mayNameControl(json) else { return false }
  do {
    let document = try Document(json)
    return document.present(Name.control, of: document.root) != nil
  } catch {
    return false
  }
}

/// The id of the message that an item is, whatever else is wrong with it; nil where it names none.
package func namedMessage(_ item: [UInt8]) -> [UInt8]? {
  do {
    let document = try Document(item)
    return document.member(Name.messageID, of: document.root).flatMap { document.string($0) }
  } catch {
    return nil
  }
}

/// Whether the name can be there: as it is, or with escapes. Most payloads end here.
private func mayNameControl(_ json: [UInt8]) -> Bool {
  let spaces: [UInt8] = [0x20, 0x0A, 0x0D, 0x09]
  guard json.first(where: { !spaces.contains($0) }) == ASCII.openBrace else { return false }
  let underscore = UInt8(ascii: "_")
  var at = 0
  while at < json.count {
    if let word = eightBytes(json.span, at: at) {
      let found = marks(underscore, word) | marks(ASCII.backslash, word)
      at &+= found.trailingZeroBitCount >> 3
      if found == 0 { continue }
    }
    switch json[at] {
    case underscore: if json[at...].starts(with: Name.control) { return true }
    // No other escape stands for a character of the name.
    case ASCII.backslash: if json[at...].dropFirst().first == ASCII.u { return true }
    default: break
    }
    at &+= 1
  }
  return false
}
