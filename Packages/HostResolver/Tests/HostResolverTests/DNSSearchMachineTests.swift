import Testing

@testable import HostResolver

@Suite struct DNSSearchMachineTests {
    private func machine() throws -> DNSSearchMachine {
        let configuration = ResolverConfiguration(servers: [], search: [DNSName("a")!, DNSName("b")!])
        return DNSSearchMachine(try HostName("www"), configuration: configuration)
    }

    @Test(
        arguments: [
            ([.hostNotFound, .hostNotFound, .hostNotFound], .hostNotFound),
            ([.hostNotFound, .noData, .hostNotFound], .noData),
            ([.serverFailed, .noData, .hostNotFound], .serverFailed),
            ([.timedOut], .timedOut),
            ([.hostNotFound, .cancelled], .cancelled),
        ] as [([ResolverError.Code], ResolverError.Code)])
    func searches(failures: [ResolverError.Code], result: ResolverError.Code) throws {
        var machine = try machine()
        var tried: [String] = []
        for failure in failures {
            tried.append(try #require(machine.current).description)
            let goesOn = machine.failed(ResolverError(failure))
            #expect(goesOn == (tried.count < failures.count))
        }
        #expect(tried == Array(["www.a.", "www.b.", "www."].prefix(failures.count)))
        #expect(machine.current == nil)
        #expect(machine.result == ResolverError(result, name: "www"))
    }
}
