extension StreamPair {
    /// Speaks with the server up to the point where TLS begins, and shakes hands.
    ///
    /// The pair must be open, and nothing may have been read from it. The pair that is given back takes it over. The dialogue and
    /// the handshake may each take as long as ``StreamProperty/openLimit`` allows.
    ///
    /// - Parameters:
    ///   - dialogue: which protocol the server speaks.
    ///   - configuration: as for ``StreamProperty/tls``. A `peerName` of its own counts before the pair's host name.
    /// - Returns: the open pair with TLS; the server has nothing to say before it is asked.
    /// - Throws: `EPROTO` if the server refuses, does not speak that protocol, or sent anything between its consent and the
    ///   handshake; as `read` and `opened()` otherwise. The pair is then closed.
    public nonisolated(nonsending) func startingTLS(
        by dialogue: StartTLSProtocol, with configuration: TLSConfiguration = TLSConfiguration()
    ) async throws(StreamError) -> StreamPair {
        do throws(StreamError) {
            try await converse(dialogue)
            let secured = try StreamPair(
                securing: self, with: configuration, peerName: self[.remoteHostName], port: self[.remotePort])
            try secured.set(.openLimit, to: self[.openLimit])
            try secured.open()
            try await secured.input.opened()
            return secured
        } catch {
            close()
            throw error
        }
    }

    private nonisolated(nonsending) func converse(_ dialogue: StartTLSProtocol) async throws(StreamError) {
        var machine = StartTLSMachine(dialogue)
        var buffer = [UInt8](repeating: 0, count: 1024)
        let limit = self[.openLimit] ?? .zero
        let deadline = ContinuousClock.now + limit
        let limits = (read: input[.readLimit], write: output[.writeLimit])
        while true {
            switch machine.next() {
            case .secure:
                try input.set(.readLimit, to: limits.read)
                return try output.set(.writeLimit, to: limits.write)
            case .send(let bytes):
                if limit > .zero { try output.set(.writeLimit, to: max(deadline - .now, .nanoseconds(1))) }
                try await output.writeAll(bytes)
            case .read:
                if limit > .zero { try input.set(.readLimit, to: max(deadline - .now, .nanoseconds(1))) }
                let count = try await input.read(into: &buffer)
                if count == 0 { throw machine.end() }
                try machine.receive(buffer[..<count])
            }
        }
    }
}
