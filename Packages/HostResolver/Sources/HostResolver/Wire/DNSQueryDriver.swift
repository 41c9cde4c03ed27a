/// The driver of a ``DNSQueryMachine``, with sockets, the clock and the system's random numbers.
enum DNSQueryDriver {
    /// Queries the servers until one answers or all have failed. If the task is cancelled, the result is `cancelled`.
    static nonisolated(nonsending) func ask(
        _ question: DNSQuestion, configuration: ResolverConfiguration, firstServer: Int
    ) async -> (result: Result<DNSMessage, ResolverError>, servers: [ServerOutcome]) {
        var machine = DNSQueryMachine(question, configuration: configuration, firstServer: firstServer)
        var random = SystemRandomNumberGenerator()
        let mailbox = DNSMailbox()
        return await withTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            while !Task.isCancelled {
                for event in mailbox.take() {
                    switch event {
                    case .received(let bytes, let number):
                        // The sockets are connected, so the kernel passes on datagrams from the queried server only.
                        machine.received(bytes, for: number, from: nil, now: .now)
                    case .failed(let result, let number):
                        machine.failed(number, result, now: .now)
                    }
                }
                switch machine.next(now: .now, using: &random) {
                case .send(let transmission):
                    let exchange = DNSExchange(transmission: transmission, mailbox: mailbox)
                    group.addTask { await exchange.run() }
                case .wait(let time):
                    await mailbox.wait(until: time)
                case .finish(let result):
                    return (result, machine.outcomes)
                }
            }
            let error = ResolverError(.cancelled, name: question.name.description, servers: machine.outcomes)
            return (.failure(error), machine.outcomes)
        }
    }
}
