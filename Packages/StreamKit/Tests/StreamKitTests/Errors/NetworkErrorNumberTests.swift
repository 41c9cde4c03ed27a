import HostResolver
import HostResolverTesting
import Testing

@testable import StreamKit

@Suite(.timeLimit(.minutes(5))) struct NetworkErrorNumberTests {
    // Parity: SK-048
    @Test("SK-048: the numbers of CFNetworkErrors")
    func numbers() {
        let expected: [ClosedRange<Int>] = [
            1...2, 100...101, 110...113, 120...124, 200...200, 300...311, -72008 ... -72000, -73000 ... -73000,
        ]
        #expect(NetworkErrorNumber.allCases.map(\.rawValue).sorted() == expected.flatMap(Array.init).sorted())
        let named: [NetworkErrorNumber: Int] = [
            .hostNotFound: 1, .unknownHost: 2, .socksUnknownClientVersion: 100, .socksUnsupportedServerVersion: 101,
            .socks4RequestFailed: 110, .socks4IdentdFailed: 111, .socks4IdentityConflict: 112,
            .socks4UnknownStatus: 113,
            .socks5BadState: 120, .socks5BadResponseAddress: 121, .socks5BadCredentials: 122,
            .socks5UnsupportedMethod: 123, .socks5NoAcceptableMethod: 124, .ftpUnexpectedStatus: 200,
            .httpAuthenticationTypeUnsupported: 300, .httpBadCredentials: 301, .httpConnectionLost: 302,
            .httpParseFailure: 303, .httpRedirectionLoop: 304, .httpBadURL: 305, .httpProxyConnectionFailure: 306,
            .httpBadProxyCredentials: 307, .automaticConfigurationFile: 308,
            .automaticConfigurationFileAuthentication: 309, .httpsProxyConnectionFailure: 310,
            .unexpectedResponseToConnect: 311, .serviceUnknown: -72000, .serviceCollision: -72001,
            .serviceNotFound: -72002, .serviceInProgress: -72003, .serviceBadArgument: -72004,
            .serviceCancelled: -72005, .serviceInvalid: -72006, .serviceTimedOut: -72007,
            .serviceNotConfigured: -72008, .discoveryServiceFailure: -73000,
        ]
        #expect(named.count == NetworkErrorNumber.allCases.count && named.allSatisfy { $0.rawValue == $1 })
    }

    private func error(_ domain: StreamErrorDomain, _ code: Int) -> StreamError {
        StreamError(domain: domain, code: code, sentence: Sentence("test", "test"))
    }

    // Parity: SK-048
    @Test("SK-048: a stream error's number in that domain")
    func mapping() {
        let expected: [(StreamErrorDomain, Int, NetworkErrorNumber?)] = [
            (.netDB, 8, .unknownHost), (.ftp, 550, .ftpUnexpectedStatus), (.netServices, -72007, .serviceTimedOut),
            (.http, -1, .httpParseFailure), (.http, -2, .httpRedirectionLoop), (.http, -3, .httpBadURL),
            (.http, -4, .httpConnectionLost), (.http, -1000, .httpAuthenticationTypeUnsupported),
            (.http, -1001, .httpBadCredentials), (.http, -1002, .httpBadCredentials),
            (.http, 307, .httpBadProxyCredentials), (.http, 311, .unexpectedResponseToConnect),
            (.socks, SOCKSFailure.requestFailed.rawValue, .socks4RequestFailed),
            (.socks, SOCKSFailure.badState.rawValue, .socks5BadState),
            (.socks, SOCKSFailure(.reply4, 1).rawValue, .socks4UnknownStatus),
            (.socks, SOCKSFailure(.authentication, 1).rawValue, .socks5BadCredentials),
            (.socks, SOCKSFailure.connectionRefused.rawValue, nil),
            (.posix, 111, nil), (.ssl, -9807, nil), (.http, 12, nil), (.netServices, 5, nil),
        ]
        for (domain, code, number) in expected {
            #expect(error(domain, code).networkErrorNumber == number, "\(domain) \(code)")
        }
    }

    // Parity: SK-049
    @Test("SK-049: the details of SOCKS and FTP errors")
    func details() {
        let expected: [(StreamErrorDomain, Int, [StreamErrorDetail: StreamErrorDetail.Value])] = [
            (.socks, SOCKSFailure(.version, 72).rawValue, [.socksVersion: .text("72")]),
            (.socks, SOCKSFailure.noAcceptableMethod.rawValue, [.socksMethod: .text("255")]),
            (.socks, SOCKSFailure.requestFailed.rawValue, [.socksStatus: .text("91")]),
            (.socks, SOCKSFailure.connectionRefused.rawValue, [.socksStatus: .text("5")]),
            (.socks, SOCKSFailure(.authentication, 7).rawValue, [.socksStatus: .text("7")]),
            (.socks, SOCKSFailure.badState.rawValue, [:]),
            (.ftp, 550, [.ftpStatus: .text("550")]),
            (.posix, 111, [:]),
        ]
        for (domain, code, details) in expected {
            #expect(error(domain, code).details == details, "\(domain) \(code)")
        }
        let made = StreamError(
            domain: .netServices, code: -73000, sentence: Sentence("test", "test"),
            details: [.discoveryFailure: .number(-65537)])
        #expect(made.details == [.discoveryFailure: .number(-65537)])
        #expect(StreamErrorDetail.socksMethod.rawValue == "kCFSOCKSNegotiationMethodKey")
        for domain in [StreamErrorDomain.posix, .netDB, .ssl] {
            let unreachable = error(domain, 8).with([.unreachableProxy: .text("p:1")])
            #expect(unreachable.networkErrorNumber == .httpProxyConnectionFailure && unreachable == error(domain, 8))
            #expect(unreachable.details[.unreachableProxy] == .text("p:1"))
        }
    }

    // Parity: SK-048, SK-049
    @Test("SK-048, SK-049: a lookup that fails")
    func lookup() async throws {
        let resolver = ScriptedResolver()
        resolver.script("nowhere.test", [.fail(.hostNotFound)])
        var properties = StreamProperties()
        properties[.resolver] = resolver
        let pair = StreamPair(host: "nowhere.test", port: 80, properties: properties)
        try pair.open()
        do throws(StreamError) {
            try await pair.input.opened()
            Issue.record("the stream opened")
        } catch {
            #expect(error.networkErrorNumber == .unknownHost)
            #expect(error.details == [.addressInfoFailure: .number(8)], "EAI_NONAME, as Darwin numbers it")
        }
    }
}
