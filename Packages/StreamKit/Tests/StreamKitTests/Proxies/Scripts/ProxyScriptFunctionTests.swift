import FoundationEssentials
import HostResolverTesting
import Testing

@testable import StreamKit
@testable import StreamProxies

/// The functions that scripts call, which are the same in each engine.
@Suite(.timeLimit(.minutes(5))) struct ProxyScriptFunctionTests {
    /// Evaluates expressions in one script, and returns those that are not true.
    private func falseOnes(
        of expressions: [String], _ engine: ProxyScriptEngine, _ statements: String = ""
    ) async throws -> [String] {
        let checks = expressions.enumerated().map { "check(\($0), function () { return \($1); });" }
        var script = try ProxyScript(
            """
            \(statements)
            function FindProxyForURL(url, host) {
                var failed = '';
                function check(number, expression) { if (expression() !== true) failed += 'PROXY n' + number + ':1;'; }
                \(checks.joined(separator: "\n"))
                return failed;
            }
            """)
        script.engines = [engine]
        script.timeout = .seconds(300)
        let resolver = ScriptedResolver()
        resolver.script("a.example", [.batch(["192.0.2.1"]), .finish()])
        let question = ProxyScriptQuestion(url: "http://www.example/", host: "www.example")
        return try await script.choices(about: question, resolver: resolver).compactMap { choice in
            guard case .server(let server) = choice else { return nil }
            return Int(server.host.dropFirst()).map { expressions[$0] }
        }
    }

    @Test(arguments: ProxyScriptEngine.allCases)
    func hosts(_ engine: ProxyScriptEngine) async throws {
        let expressions = [
            "isPlainHostName('printer')", "!isPlainHostName('www.example')", "!isPlainHostName('::1')",
            "dnsDomainIs('www.example', '.example')", "!dnsDomainIs('www.example.org', '.example')",
            "!dnsDomainIs('e', '.example')", "localHostOrDomainIs('www', 'www.example')",
            "localHostOrDomainIs('www.example', 'www.example')", "!localHostOrDomainIs('www.other', 'www.example')",
            "!localHostOrDomainIs('ww', 'www.example')", "dnsDomainLevels('www') === 0",
            "dnsDomainLevels('a.b.c') === 2",
            "shExpMatch('http://a.example/x', '*.example/*')", "!shExpMatch('http://a.examplex/x', '*.example/*')",
            "shExpMatch('abc', 'a?c')", "!shExpMatch('axxc', 'a?c')", "!shExpMatch('axc.', 'a.c.')",
            "shExpMatch('b.example', '(a|b).example')", "!shExpMatch('xb.example', 'b.example')",
            "alert('a word') === undefined", "getClientVersion() === '1.0'",
        ]
        #expect(try await falseOnes(of: expressions, engine) == [])
    }

    @Test(arguments: ProxyScriptEngine.allCases)
    func addresses(_ engine: ProxyScriptEngine) async throws {
        let expressions = [
            "isInNet('10.1.2.3', '10.0.0.0', '255.0.0.0')", "!isInNet('11.1.2.3', '10.0.0.0', '255.0.0.0')",
            "isInNet('a.example', '192.0.2.1', '255.255.255.255')", "!isInNet('none.example', '192.0.2.1', '0.0.0.0')",
            "!isInNet('10.1.2.3', '10.0.0', '255.0.0.0')", "!isInNet('10.1.2.3', '10.0.0.0', '256.0.0.0')",
            "isResolvable('a.example')", "!isResolvable('none.example')", "isResolvableEx('a.example')",
            "convert_addr('104.16.41.2') === 1745889538", "convert_addr('no') === 0",
            "isInNetEx('198.51.100.7', '198.51.100.0/24')", "!isInNetEx('198.51.101.7', '198.51.100.0/24')",
            "isInNetEx('2001:db8::7', '2001:DB8::/32')", "!isInNetEx('2001:db9::7', '2001:db8::/32')",
            "isInNetEx('2001:db8:c000::1', '2001:db8:8000::/33')",
            "isInNetEx('::ffff:192.0.2.1', '::ffff:c000:201/128')",
            "!isInNetEx('192.0.2.1', '2001:db8::/32')", "!isInNetEx('192.0.2.1', '192.0.2.0/33')",
            "!isInNetEx('192.0.2.1', '192.0.2.0')", "!isInNetEx('1::2::3', '::/0')", "!isInNetEx('1:2:3', '::/0')",
            "isInNetEx('::1', '::/0')",
            "sortIpAddressList('10.0.0.2;2001:db8::2;10.0.0.1;2001:db8::1') === '2001:db8::1;2001:db8::2;10.0.0.1;10.0.0.2'",
            "sortIpAddressList('10.0.0.2;no') === false",
        ]
        #expect(try await falseOnes(of: expressions, engine) == [])
    }

    /// The libpacparser of Debian 13 ends the process in its own functions.
    @Test(arguments: ProxyScriptEngine.allCases)
    func arraysAsTexts(_ engine: ProxyScriptEngine) async throws {
        let expressions = [
            "['a', 'b', 'c'].join('; ') === 'a; b; c'", "['a', 'b'].join() === 'a,b'", "[].join() === ''",
            "[1, null, undefined, [2, 3]].join('-') === '1---2,3'", "String(['a', 'b']) === 'a,b'",
            "['a', 'b'] + '' === 'a,b'",
            "(function () { for (var i in ['a']) if (i != '0') return false; return true; })()",
        ]
        #expect(try await falseOnes(of: expressions, engine) == [])
    }

    /// It is Saturday, 31 January 2026, 23:59:30 here, and an hour later in UTC.
    @Test(arguments: ProxyScriptEngine.allCases)
    func times(_ engine: ProxyScriptEngine) async throws {
        let clock = """
            Date = function () {
                this.getDay = function () { return 6; }; this.getUTCDay = function () { return 0; };
                this.getDate = function () { return 31; }; this.getUTCDate = function () { return 1; };
                this.getMonth = function () { return 0; }; this.getUTCMonth = function () { return 1; };
                this.getFullYear = this.getUTCFullYear = function () { return 2026; };
                this.getHours = function () { return 23; }; this.getUTCHours = function () { return 0; };
                this.getMinutes = this.getUTCMinutes = function () { return 59; };
                this.getSeconds = this.getUTCSeconds = function () { return 30; };
            };
            """
        let expressions = [
            "weekdayRange('SAT')", "!weekdayRange('SUN')", "weekdayRange('SUN', 'GMT')", "weekdayRange('MON', 'SAT')",
            "!weekdayRange('MON', 'FRI')", "weekdayRange('FRI', 'SUN')", "weekdayRange('FRI', 'MON', 'GMT')",
            "!weekdayRange('XXX')", "!weekdayRange()",
            "dateRange(31)", "!dateRange(30)", "dateRange(1, 'GMT')", "dateRange(15, 31)", "dateRange(31, 5)",
            "!dateRange(1, 30)", "dateRange('JAN')", "!dateRange('FEB')", "dateRange('FEB', 'GMT')",
            "dateRange('NOV', 'FEB')", "!dateRange('FEB', 'NOV')", "dateRange(2026)", "!dateRange(2025)",
            "dateRange(2025, 2027)", "!dateRange(2027, 2028)", "dateRange(15, 'DEC', 31, 'JAN')",
            "!dateRange(1, 'FEB', 14, 'DEC')", "dateRange('DEC', 2025, 'JAN', 2026)",
            "!dateRange('FEB', 2026, 'MAR', 2026)", "dateRange(31, 'JAN', 2026)", "!dateRange(31, 'JAN', 2025)",
            "dateRange(31, 'JAN')", "dateRange(30, 'JAN', 2026, 1, 'FEB', 2026)",
            "!dateRange(1, 'FEB', 2026, 2, 'FEB', 2026)", "dateRange(1, 'FEB', 2026, 2, 'FEB', 2026, 'GMT')",
            "!dateRange()", "!dateRange('never')",
            "timeRange(23)", "!timeRange(0)", "timeRange(0, 'GMT')", "timeRange(9, 23)", "!timeRange(9, 17)",
            "timeRange(22, 6)", "timeRange(22, 6, 'GMT')", "timeRange(23, 59, 0, 0)", "!timeRange(8, 30, 23, 58)",
            "timeRange(23, 59, 30, 23, 59, 30)", "!timeRange(23, 59, 31, 23, 59, 59)", "!timeRange()",
            "!timeRange(1, 2, 3)",
        ]
        #expect(try await falseOnes(of: expressions, engine, clock) == [])
    }

    @Test("The local time is that of TZ, and of the machine", arguments: ProxyScriptEngine.allCases)
    func timeZone(_ engine: ProxyScriptEngine) async throws {
        let summer = Int(TimeZone.current.secondsFromGMT(for: Date(timeIntervalSince1970: 1_752_570_000)))
        let winter = Int(TimeZone.current.secondsFromGMT(for: Date(timeIntervalSince1970: 1_736_930_000)))
        let expressions = [
            "new Date(1752570000000).getTimezoneOffset() === \(-summer / 60)",
            "new Date(1736930000000).getTimezoneOffset() === \(-winter / 60)",
            "new Date(1736930000000).toString().length > 20",
        ]
        #expect(try await falseOnes(of: expressions, engine) == [])
    }

    @Test("A script may declare its own functions under these names", arguments: ProxyScriptEngine.allCases)
    func replaced(_ engine: ProxyScriptEngine) async throws {
        let own = "function shExpMatch() { return 'own'; } var isPlainHostName = shExpMatch; dnsResolve = shExpMatch;"
        let expressions = [
            "shExpMatch() === 'own'", "isPlainHostName() === 'own'", "dnsResolve('a') === 'own'", "isResolvable('a')",
        ]
        #expect(try await falseOnes(of: expressions, engine, own) == [])
    }
}
