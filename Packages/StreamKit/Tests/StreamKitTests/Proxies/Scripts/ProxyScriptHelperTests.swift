import CProxyScript
import FoundationEssentials
import Glibc
import Testing

@testable import StreamKit
@testable import StreamProxies

/// The confinement of the process that runs scripts.
@Suite(.timeLimit(.minutes(5))) struct ProxyScriptHelperTests {
    /// A confined helper that has received nothing yet.
    private final class Helper: Sendable {
        let socket: Int32
        let process: Int32

        init(_ engine: ProxyScriptEngine, calling call: (number: Int, arguments: [UInt])? = nil) throws {
            var process: Int32 = 0
            let letters = [engine].letters
            if let call {
                socket = netkit_pac_start_calling(call.number, call.arguments, letters, &process)
            } else {
                socket = netkit_pac_start(10, UInt(ProxyScript.maximumMemory), letters, &process)
            }
            self.process = process
            let ready = ProxyScriptConversation.frame("R", Array(engine.name.utf8))
            var received = [UInt8](repeating: 0, count: ready.count)
            try #require(socket >= 0)
            let count = recv(socket, &received, received.count, CInt(MSG_WAITALL))
            try #require(count == ready.count && received == ready)
        }

        /// Resumes the helper, waits for its end, and returns its wait status.
        func end() -> Int32 {
            var byte: UInt8 = 0
            _ = send(socket, &byte, 1, CInt(MSG_NOSIGNAL))
            _ = read(socket, &byte, 1)
            close(socket)
            return netkit_pac_end(process)
        }

        func file(_ name: String) throws -> [UInt8] {
            try RegularFile.read("/proc/\(process)/\(name)", limit: 4 << 20)
        }

        func text(_ name: String) throws -> String { String(decoding: try file(name), as: UTF8.self) }
    }

    /// Whether the writable memory of a process contains these bytes.
    private func holds(_ process: Int32, _ secret: [UInt8]) throws -> Bool {
        let maps = String(decoding: try RegularFile.read("/proc/\(process)/maps", limit: 4 << 20), as: UTF8.self)
        let memory = open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
        try #require(memory >= 0)
        defer { close(memory) }
        var isFound = false
        for line in maps.split(separator: "\n") {
            let words = line.split(separator: " ")
            let ends = words[0].split(separator: "-").compactMap { UInt(String($0), radix: 16) }
            guard ends.count == 2, words[1].hasPrefix("rw"), ends[1] - ends[0] < 1 << 32 else { continue }
            // Reads pieces that overlap by the length of the secret.
            let piece = 1 << 20
            var buffer = [UInt8](repeating: 0, count: piece + secret.count)
            for start in stride(from: ends[0], to: ends[1], by: piece) {
                let count = pread(memory, &buffer, min(buffer.count, Int(ends[1] - start)), off_t(start))
                guard count > 0 else { break }
                isFound = isFound || Self.find(secret, in: buffer[..<count])
            }
        }
        return isFound
    }

    private static func find(_ secret: [UInt8], in bytes: ArraySlice<UInt8>) -> Bool {
        bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            var offset = 0
            while bytes.count - offset >= secret.count {
                let left = bytes.count - offset - secret.count + 1
                guard let hit = memchr(start + offset, CInt(secret[0]), left) else { return false }
                if memcmp(hit, secret, secret.count) == 0 { return true }
                offset = UnsafeRawPointer(hit) - start + 1
            }
            return false
        }
    }

    @Test(
        "The helper has none of this process's memory, environment and descriptors",
        arguments: ProxyScriptEngine.allCases)
    func holdsNothing(_ engine: ProxyScriptEngine) throws {
        let secret = (0..<24).map { _ in UInt8.random(in: 1 ... .max) }
        let file = open("/dev/null", O_RDONLY)  // deliberately without O_CLOEXEC
        defer { close(file) }
        let helper = try Helper(engine)
        #expect(try holds(getpid(), secret), "the search finds the secret here")
        #expect(try !holds(helper.process, secret))

        let environment = try helper.text("environ").split(separator: "\0").map { $0.prefix { $0 != "=" } }
        let constant = environment.filter { $0.hasPrefix("JSC_") || $0 == "GIGACAGE_ENABLED" }
        #expect(constant.count == 4 && Set(environment).subtracting(constant).isSubset(of: ["TZ", "LD_LIBRARY_PATH"]))
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(helper.process)/task")
        #expect(threads.count == 1, "the helper may start none")
        #expect(try FileManager.default.contentsOfDirectory(atPath: "/proc/\(helper.process)/fd") == ["3"])
        #expect(try helper.text("cmdline").hasPrefix("netkit: proxy script\0"))

        let limits = try helper.text("limits").split(separator: "\n").map { $0.split(separator: " ") }
        func limit(_ name: String) -> [Substring]? {
            let words = name.split(separator: " ")
            return limits.first { $0.starts(with: words) }.map { Array($0.dropFirst(words.count).prefix(2)) }
        }
        for name in ["Max core file size", "Max file size", "Max open files", "Max processes"] {
            #expect(limit(name) == ["0", "0"], "\(name)")
        }
        #expect(limit("Max cpu time") == ["11", "11"])
        #expect(limit("Max address space").map { $0[0] != "unlimited" && $0[0] == $0[1] } == true)
        let status = try helper.text("status").split(separator: "\n").map { $0.split(separator: "\t") }
        // An engine's reservation of 4 GiB is no memory yet: what becomes writable of it counts, too.
        func memory(_ name: String) -> Int? {
            status.first { $0.first == "\(name):" }?.last?.split(separator: " ").first.flatMap { Int($0) }
        }
        let writable = (try #require(memory("VmData")) + (try #require(memory("VmStk")))) * 1024
        let mostWritable = limit("Max data size").flatMap { Int($0[0]) }
        let spare = try #require(mostWritable) - writable
        #expect(spare <= ProxyScript.maximumMemory && spare > ProxyScript.maximumMemory / 2)
        #expect(status.contains(["NoNewPrivs:", "1"]) && status.contains(["Seccomp:", "2"]))
        close(helper.socket)
        _ = netkit_pac_end(helper.process)
        withExtendedLifetime(secret) {}
    }

    #if arch(x86_64)
    private static let calls: [(String, Int, [UInt])] = [
        ("open", 2, []), ("openat", 257, []), ("socket", 41, [2, 1, 0]), ("socketpair", 53, []), ("connect", 42, [3]),
        ("sendto", 44, [3]), ("execve", 59, []), ("fork", 57, []), ("vfork", 58, []), ("clone", 56, []),
        ("clone3", 435, []), ("kill", 62, [1, 0]), ("ptrace", 101, []), ("process_vm_readv", 310, []), ("stat", 4, []),
        ("unlink", 87, []), ("ioctl", 16, [3]), ("dup", 32, [3]), ("prctl", 157, []), ("setrlimit", 160, []),
        ("prlimit64", 302, []), ("io_uring_setup", 425, []), ("bpf", 321, []), ("mmap of code", 9, [0, 4096, 5]),
        ("mprotect to code", 10, [0, 0, 4]), ("a call of another kind", 0x4000_0001, [3]),
    ]
    private static let getrandom = 318
    #else
    private static let calls: [(String, Int, [UInt])] = [
        ("openat", 56, []), ("socket", 198, [2, 1, 0]), ("socketpair", 199, []), ("connect", 203, [3]),
        ("sendto", 206, [3]), ("execve", 221, []), ("clone", 220, []), ("clone3", 435, []), ("kill", 129, [1, 0]),
        ("ptrace", 117, []), ("process_vm_readv", 270, []), ("ioctl", 29, [3]), ("dup", 23, [3]), ("prctl", 167, []),
        ("prlimit64", 261, []), ("io_uring_setup", 425, []), ("bpf", 280, []), ("mmap of code", 222, [0, 4096, 5]),
        ("mprotect to code", 226, [0, 0, 4]),
    ]
    private static let getrandom = 278
    #endif

    @Test(
        "A call for files, the network or other processes ends the helper",
        arguments: calls, ProxyScriptEngine.allCases)
    func isConfined(_ call: (name: String, number: Int, arguments: [UInt]), _ engine: ProxyScriptEngine) async throws {
        let padded = Array((call.arguments + [0, 0, 0]).prefix(3))
        let status = try await onThread { try Helper(engine, calling: (call.number, padded)).end() }
        #expect(status & 0x7F == SIGSYS, "\(call.name): \(status)")
    }

    @Test(arguments: ProxyScriptEngine.allCases)
    func mayCompute(_ engine: ProxyScriptEngine) async throws {
        #expect(try await onThread { try Helper(engine, calling: (Self.getrandom, [0, 0, 0])).end() } == 0)
    }

    /// A shell can start a program under any name: it must neither run normally, nor work for another process.
    @Test("A program under the helper's name that was not started by itself ends at once")
    func namedByAccident() async throws {
        let status = try await onThread {
            var process: pid_t = 0
            var words: [UnsafeMutablePointer<CChar>?] = [strdup("netkit: proxy script"), strdup("1"), strdup("1"), nil]
            defer { words.forEach { free($0) } }
            var environment: [UnsafeMutablePointer<CChar>?] = [nil]
            let failure = posix_spawn(&process, "/proc/self/exe", nil, nil, &words, &environment)
            try #require(failure == 0)
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            return status
        }
        #expect(status == 127 << 8)
    }
}
