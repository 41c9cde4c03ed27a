@testable import WebSocketStream

/// A frame as the tests write and read it, independently of the package.
struct WireFrame: Equatable, CustomStringConvertible {
    var opcode: UInt8
    var payload: [UInt8]
    var isFinal = true
    /// The three reserved bits, the first one highest.
    var reserved: UInt8 = 0

    static func text(_ text: String, isFinal: Bool = true, reserved: UInt8 = 0) -> WireFrame {
        WireFrame(opcode: 1, payload: Array(text.utf8), isFinal: isFinal, reserved: reserved)
    }

    static func text(_ bytes: [UInt8], isFinal: Bool = true) -> WireFrame {
        WireFrame(opcode: 1, payload: bytes, isFinal: isFinal)
    }

    static func binary(_ bytes: [UInt8], isFinal: Bool = true, reserved: UInt8 = 0) -> WireFrame {
        WireFrame(opcode: 2, payload: bytes, isFinal: isFinal, reserved: reserved)
    }

    static func more(_ bytes: [UInt8], isFinal: Bool) -> WireFrame {
        WireFrame(opcode: 0, payload: bytes, isFinal: isFinal)
    }

    static func more(_ text: String, isFinal: Bool) -> WireFrame { more(Array(text.utf8), isFinal: isFinal) }

    static func ping(_ payload: [UInt8] = []) -> WireFrame { WireFrame(opcode: 9, payload: payload) }
    static func pong(_ payload: [UInt8] = []) -> WireFrame { WireFrame(opcode: 10, payload: payload) }

    static func close(_ code: Int? = nil, _ reason: [UInt8] = []) -> WireFrame {
        WireFrame(
            opcode: 8, payload: code.map { [UInt8($0 >> 8 & 0xFF), UInt8($0 & 0xFF)] + reason } ?? [])
    }

    /// Splits a message into frames of at most `size` bytes.
    static func fragments(_ opcode: UInt8, _ payload: [UInt8], of size: Int, isCompressed: Bool = false) -> [WireFrame]
    {
        var frames: [WireFrame] = []
        var start = 0
        repeat {
            let end = min(start + size, payload.count)
            frames.append(
                WireFrame(
                    opcode: start == 0 ? opcode : 0, payload: Array(payload[start..<end]),
                    isFinal: end == payload.count,
                    reserved: isCompressed && start == 0 ? 4 : 0))
            start = end
        } while start < payload.count
        return frames
    }

    /// The bytes of the frame, masked if a client sends it.
    func bytes(masked: Bool) -> [UInt8] {
        var bytes: [UInt8] = [(isFinal ? 0x80 : 0) | reserved << 4 | opcode]
        let bit: UInt8 = masked ? 0x80 : 0
        if payload.count < 126 {
            bytes.append(bit | UInt8(payload.count))
        } else if payload.count < 65536 {
            bytes += [bit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        } else {
            bytes.append(bit | 127)
            for index in 0..<8 { bytes.append(UInt8(payload.count >> (56 - 8 * index) & 0xFF)) }
        }
        guard masked else { return bytes + payload }
        let key: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
        bytes += key
        return bytes + WireFrame.masked(payload, key)
    }

    /// The bytes with a masking key applied (RFC 6455 §5.3), four at a time: some messages have 16 MiB.
    private static func masked(_ payload: [UInt8], _ key: [UInt8]) -> [UInt8] {
        var payload = payload
        payload.withUnsafeMutableBytes { bytes in
            let word = key.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
            let whole = bytes.count & ~3
            for index in stride(from: 0, to: whole, by: 4) {
                let old = bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self)
                bytes.storeBytes(of: old ^ word, toByteOffset: index, as: UInt32.self)
            }
            for index in whole..<bytes.count { bytes[index] ^= key[index & 3] }
        }
        return payload
    }

    /// Reads complete frames from the front of `bytes`, and removes them.
    static func take(from bytes: inout [UInt8]) -> [WireFrame] {
        var frames: [WireFrame] = []
        var position = 0
        while true {
            let rest = bytes.count - position
            guard rest >= 2 else { break }
            var header = 2
            var length = Int(bytes[position + 1] & 0x7F)
            if length >= 126 {
                let size = length == 126 ? 2 : 8
                guard rest >= 2 + size else { break }
                length = bytes[position + 2..<position + 2 + size].reduce(0) { $0 << 8 | Int($1) }
                header += size
            }
            let isMasked = bytes[position + 1] & 0x80 != 0
            guard rest >= header + (isMasked ? 4 : 0) + length else { break }
            var key: [UInt8] = [0, 0, 0, 0]
            if isMasked {
                key = Array(bytes[position + header..<position + header + 4])
                header += 4
            }
            let start = position + header
            var payload = Array(bytes[start..<start + length])
            if isMasked { payload = masked(payload, key) }
            let first = bytes[position]
            frames.append(
                WireFrame(
                    opcode: first & 0x0F, payload: payload, isFinal: first & 0x80 != 0, reserved: first >> 4 & 7))
            position = start + length
        }
        bytes.removeFirst(position)
        return frames
    }

    var description: String {
        "\(opcode)\(isFinal ? "" : "…")\(reserved == 0 ? "" : " rsv\(reserved)"): "
            + (payload.count > 80 ? "\(payload.count) bytes" : "\(payload)")
    }
}

/// A machine whose application returns each message, as the Autobahn cases assume, fed with frames of a peer.
struct Echo {
    var machine: WebSocketMachine
    let role: WebSocketMachine.Role
    private(set) var error: WebSocketError?
    private(set) var closure: WebSocketClosure?
    /// The frames that the machine has sent.
    private(set) var sent: [WireFrame] = []
    private var output: [UInt8] = []

    init(
        _ role: WebSocketMachine.Role, limits: WebSocketLimits = WebSocketLimits(),
        compression: WebSocketCompressionAgreement? = nil
    ) {
        self.role = role
        machine = WebSocketMachine(role, limits: limits, compression: compression)
    }

    /// Passes the frames to the machine in pieces.
    mutating func receive(_ frames: [WireFrame], pieces size: Int? = nil) {
        let bytes = frames.flatMap { $0.bytes(masked: role == .server) }
        guard let size else { return receive(bytes[...]) }
        for start in stride(from: 0, to: bytes.count, by: size) {
            receive(bytes[start..<min(start + size, bytes.count)])
        }
    }

    mutating func receive(_ bytes: ArraySlice<UInt8>) {
        if error != nil { return }
        machine.receive(bytes)
        do throws(WebSocketError) {
            while let event = try machine.nextEvent() {
                switch event {
                case .message(let message): try machine.send(message)
                case .close(let closure): self.closure = closure
                case .ping, .pong: break
                }
            }
        } catch {
            self.error = error
        }
        output += machine.takeOutput()
        if role == .client, output.count >= 2, output[1] & 0x80 == 0 { fatalError("a client must mask") }
        sent += WireFrame.take(from: &output)
    }
}
