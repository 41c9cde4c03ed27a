import Glibc
import Testing

@testable import StreamKit

/// The sources of a machine's settings (SK-120).
struct SystemProxySettingsTests {
    @Test func places() {
        #expect(
            ProxySettings.systemFiles { ["HOME": "/home/ann"][$0] }
                == ["/home/ann/.config/netkit/proxies", "/etc/netkit/proxies"])
        #expect(
            ProxySettings.systemFiles { ["HOME": "/home/ann", "XDG_CONFIG_HOME": "/conf"][$0] }
                == ["/conf/netkit/proxies", "/etc/netkit/proxies"])
        #expect(
            ProxySettings.systemFiles { ["HOME": "/home/ann", "XDG_CONFIG_HOME": "relative"][$0] }.first
                == "/home/ann/.config/netkit/proxies")
        #expect(ProxySettings.systemFiles { _ in nil } == ["/etc/netkit/proxies"])
    }

    @Test("The environment, the user's file, the machine's: the first that applies is used as a whole")
    func order() throws {
        var template = Array("/tmp/netkit-proxies-XXXXXX".utf8CString)
        let folder = String(cString: try #require(mkdtemp(&template)))
        let (user, machine) = ("\(folder)/user", "\(folder)/machine")
        defer {
            unlink(user)
            unlink(machine)
            rmdir(folder)
        }
        func write(_ text: String, _ path: String) throws {
            let stream = WriteStream(path: path)
            try stream.open()
            _ = try stream.tryWrite(Array(text.utf8))
            stream.close()
        }
        func system(_ variables: [String: String] = [:]) throws -> ProxySettings? {
            try ProxySettings.system(
                .environment(variables), hasBypass: variables["no_proxy"] != nil, files: [user, machine])
        }
        #expect(try system() == nil)
        #expect(try system(["no_proxy": "*"]) == nil)
        try write("http_proxy = http://machine:1\nno_proxy = .example\n", machine)
        #expect(try system()?.http.first?.host == "machine")
        #expect(try system(["http_proxy": "http://env:1"])?.http.first?.host == "env")
        #expect(try system(["http_proxy": "http://env:1"])?.bypass == ProxyBypassList.none, "sources are not mixed")
        let bypassed = try #require(try system(["no_proxy": "other"]))
        #expect(bypassed.http.first?.host == "machine" && bypassed.bypass == ProxyBypassList(noProxy: "other"))
        try write("# none\n", user)
        #expect(try system()?.isEmpty == true, "an existing file takes effect")
        try write("http_proxy = :::\n", user)
        #expect(throws: StreamError.self) { try system() }
    }
}
