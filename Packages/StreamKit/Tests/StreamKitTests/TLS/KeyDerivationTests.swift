internal import COpenSSL
import Testing

@testable import StreamTLS

/// The work that encrypted keys and bundles ask for, with encodings made by hand.
struct KeyDerivationTests {
    private let authority = TestAuthority()

    // MARK: Encodings

    private func encode(_ tag: UInt8, _ contents: [UInt8]...) -> [UInt8] {
        let content: [UInt8] = contents.reduce(into: []) { $0 += $1 }
        if content.count < 0x80 { return [tag, UInt8(content.count)] + content }
        let length = withUnsafeBytes(of: UInt32(content.count).bigEndian) { Array($0) }
        return [tag, 0x84] + length + content
    }

    /// The encodings of the elements of a sequence.
    private func elements(of sequence: [UInt8]) -> [[UInt8]] {
        func header(_ bytes: ArraySlice<UInt8>) -> (size: Int, length: Int) {
            let first = bytes[bytes.startIndex + 1]
            guard first >= 0x80 else { return (2, Int(first)) }
            let octets = bytes.dropFirst(2).prefix(Int(first & 0x7F))
            return (2 + octets.count, octets.reduce(0) { $0 << 8 | Int($1) })
        }
        var rest = sequence[...].dropFirst(header(sequence[...]).size)
        var elements: [[UInt8]] = []
        while !rest.isEmpty {
            let (size, length) = header(rest)
            elements.append(Array(rest.prefix(size + length)))
            rest = rest.dropFirst(size + length)
        }
        return elements
    }

    /// An algorithm of PKCS#5: 1.2.840.113549.1.5 and a number.
    private func algorithm(_ number: UInt8, _ parameters: [UInt8]...) -> [UInt8] {
        let identifier = encode(6, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 5, number])
        return encode(0x30, identifier, encode(0x30, parameters.reduce(into: []) { $0 += $1 }))
    }
    private func pbkdf2(_ iterations: UInt32) -> [UInt8] {
        let octets = withUnsafeBytes(of: iterations.bigEndian) { Array($0) }.drop { $0 == 0 }
        // DER permits a zero in front only if the number would be negative without it.
        let number = (octets.first ?? 0x80) >= 0x80 ? [0] + octets : Array(octets)
        return algorithm(12, encode(4, [UInt8](repeating: 7, count: 8)), encode(2, number))
    }
    /// The cipher AES-256-CBC.
    private var cipher: [UInt8] {
        let identifier = encode(6, [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1, 42])
        return encode(0x30, identifier, encode(4, [UInt8](repeating: 9, count: 16)))
    }
    private func pbes2(_ function: [UInt8]) -> [UInt8] { algorithm(13, function, cipher) }
    private func pbmac1(_ function: [UInt8]) -> [UInt8] { algorithm(14, function, cipher) }

    private func iterations(_ encoding: [UInt8]) throws -> Int64? {
        let algorithm = encoding.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return d2i_X509_ALGOR(nil, &position, bytes.count)
        }
        defer { X509_ALGOR_free(algorithm) }
        return KeyDerivation.iterations(of: try #require(algorithm))
    }

    // MARK: Tests

    @Test func iterationsOfTheKeyFunction() throws {
        #expect(try iterations(pbkdf2(7)) == 7)
        #expect(try iterations(pbes2(pbkdf2(2_048))) == 2_048)
        #expect(try iterations(pbmac1(pbkdf2(600_000))) == 600_000)
        #expect(try iterations(pbes2(cipher)) == nil)
    }

    /// Each level would be copied once more, before anything checks the password.
    @Test func algorithmsDoNotNest() throws {
        var nested = pbes2(pbes2(pbkdf2(1)))
        #expect(try iterations(nested) == nil && iterations(pbmac1(pbes2(pbkdf2(1)))) == nil)
        #expect(try iterations(pbes2(pbmac1(pbkdf2(1)))) == nil)
        for _ in 0..<1_000 { nested = pbes2(nested) }
        #expect(try iterations(nested) == nil)
    }

    /// The code over a bundle with PBMAC1 has a number of its own (RFC 9579), beside that of the bundle.
    @Test func aCodeWithManyIterationsOfItsOwn() throws {
        let parts = elements(of: authority.issue().pkcs12(password: "secret"))
        func bundle(_ algorithm: [UInt8]) -> [UInt8] {
            let digest = encode(0x30, algorithm, encode(4, [UInt8](repeating: 1, count: 32)))
            let code = encode(0x30, digest, encode(4, [UInt8](repeating: 7, count: 8)), encode(2, [1]))
            return encode(0x30, parts[0], parts[1], code)
        }
        func read(_ algorithm: [UInt8]) -> PKCS12Reader.Fault? {
            do throws(PKCS12Reader.Fault) {
                _ = try PKCS12Reader(bundle(algorithm), password: "secret", maximumIterations: 1_000)
                return nil
            } catch {
                return error
            }
        }
        #expect(read(pbmac1(pbkdf2(.max >> 1))) == .tooMuchWork && read(pbmac1(pbkdf2(1_001))) == .tooMuchWork)
        #expect(read(pbmac1(pbkdf2(1_000))) != .tooMuchWork && read(pbmac1(cipher)) == .unreadable)
        // A kind of code that OpenSSL does not know: another password would not help.
        #expect(read(cipher) == .unreadable)
    }
}
