/// Tells payloads that are for clients from those that are for people.
///
/// A payload is often not JSON at all, so anything that cannot be read is an
/// ordinary message: nothing is hidden by accident.
internal import Glibc

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

/// Whether the name can be there: as it is, or with escapes. Most payloads end here.
private func mayNameControl(_ json: [UInt8]) -> Bool {
  let spaces: [UInt8] = [0x20, 0x0A, 0x0D, 0x09]
  guard json.first(where: { !spaces.contains($0) }) == Character.openBrace else { return false }
  let name = Name.control
  return find(UInt8(ascii: "_"), in: json) { json[$0...].starts(with: name) }
    // No other escape stands for a character of the name.
    || find(Character.backslash, in: json) { json[$0...].dropFirst().first == Character.u }
}

/// Whether one of the places of a byte is as asked for.
private func find(_ byte: UInt8, in json: [UInt8], where isIt: (Int) -> Bool) -> Bool {
  unsafe json.withUnsafeBytes { bytes in
    guard let start = bytes.baseAddress else { return false }
    var at = 0
    while at < bytes.count,
      let found = unsafe memchr(start + at, Int32(byte), bytes.count - at)
    {
      at = unsafe start.distance(to: UnsafeRawPointer(found))
      if isIt(at) { return true }
      at += 1
    }
    return false
  }
}
