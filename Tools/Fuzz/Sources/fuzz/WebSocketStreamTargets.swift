internal import HTTPMessage

@testable internal import WebSocketStream

extension FuzzTarget {
    /// The frames of a peer, after a byte whose bits choose the role and compression: whole and in pieces, with the same result.
    static let webSocket = FuzzTarget(name: "websocket") { bytes in
        guard let first = bytes.first else { return }
        let role: WebSocketMachine.Role = first & 1 == 0 ? .server : .client
        let isCompressed = first & 2 != 0
        let frames = bytes.dropFirst()
        let whole = converse(role, isCompressed, frames, inPiecesOf: max(1, frames.count))
        for size in [1, 7] where size < frames.count {
            precondition(
                converse(role, isCompressed, frames, inPiecesOf: size) == whole,
                "pieces of \(size) bytes: another result")
        }
    }

    /// The fields of a handshake, on both sides.
    static let webSocketExtensions = FuzzTarget(name: "websocket-extensions") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard let offers = ExtensionOffer.parse([text]) else { return }
        for offer in offers {
            for isOffer in [true, false] {
                guard let parameters = DeflateParameters(offer.parameters, isOffer: isOffer) else { continue }
                guard let again = ExtensionOffer.parse([parameters.text])?.first else {
                    preconditionFailure("cannot be parsed again: \(parameters.text)")
                }
                precondition(DeflateParameters(again.parameters, isOffer: isOffer) == parameters)
            }
        }
    }

    /// The events before the first error, and the error's code.
    private static func converse(
        _ role: WebSocketMachine.Role, _ isCompressed: Bool, _ bytes: ArraySlice<UInt8>, inPiecesOf size: Int
    ) -> [String] {
        var limits = WebSocketLimits()
        limits.messageLength = 1 << 16
        let compression = isCompressed ? WebSocketCompressionAgreement(WebSocketCompression()) : nil
        var machine = WebSocketMachine(role, limits: limits, compression: compression)
        var events: [String] = []
        for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: size) {
            machine.receive(bytes[start..<min(bytes.endIndex, start + size)])
            do throws(WebSocketError) {
                while let event = try machine.nextEvent() {
                    if case .message(let message) = event { precondition(message.bytes.count <= limits.messageLength) }
                    events.append("\(event)")
                }
            } catch {
                precondition(machine.state == .failed && !error.description.isEmpty)
                events.append("\(error.code)")
                break
            }
        }
        precondition(machine.takeOutput().count <= WebSocketMachine.maximumAnswersLength + 256)
        return events
    }
}
