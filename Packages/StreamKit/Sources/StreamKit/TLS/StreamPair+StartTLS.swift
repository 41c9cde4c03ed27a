extension StreamPair {
    /// Performs the protocol's dialogue up to the point where TLS begins, and then the handshake.
    ///
    /// The pair must be open, and nothing may have been read from it. The returned pair takes it over. The dialogue and
    /// the handshake may each take as long as ``StreamProperty/openLimit`` allows.
    ///
    /// - Parameters:
    ///   - dialogue: the protocol that the server speaks.
    ///   - configuration: as for ``StreamProperty/tls``. Its `peerName`, if set, takes precedence over the pair's host
    ///     name.
    /// - Returns: the open pair with TLS. The server sends nothing before it is asked.
    /// - Throws: `EPROTO` if the server refuses, does not speak that protocol, or sends data between its consent and
    ///   the handshake; otherwise the errors of `read` and `opened()`. The pair is then closed.
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
