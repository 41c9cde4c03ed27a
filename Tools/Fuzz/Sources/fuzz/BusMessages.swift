@testable internal import HTTPAuth

extension FuzzTarget {
    /// Messages of D-Bus: what is read can be written, and is the same when it is read again.
    static let busMessages = FuzzTarget(name: "bus-messages") { bytes in
        if bytes.count >= DBusMessage.prefixCount {
            _ = try? DBusMessage.length(ofPrefix: Array(bytes[..<DBusMessage.prefixCount]))
        }
        guard let message = try? DBusMessage.decode(bytes) else { return }
        let again = message.encoded()
        guard again.count <= DBusMessage.sizeLimit else { return }
        precondition((try? DBusMessage.decode(again)) == message)
    }
}
