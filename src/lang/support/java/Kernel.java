// SPDX-License-Identifier: MIT

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import jdk.jshell.Diag;
import jdk.jshell.EvalException;
import jdk.jshell.ExpressionSnippet;
import jdk.jshell.JShell;
import jdk.jshell.JShellException;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis;
import jdk.jshell.UnresolvedReferenceException;
import jdk.jshell.execution.LoaderDelegate;
import jdk.jshell.execution.LocalExecutionControl;
import jdk.jshell.spi.ExecutionControl;
import jdk.jshell.spi.ExecutionControl.ClassBytecodes;
import jdk.jshell.spi.ExecutionControlProvider;
import jdk.jshell.spi.ExecutionEnv;
import sun.misc.Signal;

/**
 * A Java that keeps its state: it evaluates the cells that its host sends on descriptor 3 with
 * JShell, in this very process, and writes back what became of each.
 *
 * It is started with --add-opens=java.base/java.io=ALL-UNNAMED (see Channel) by a Java of 17 or newer
 * that has its compiler; the class path is that of the cells. System.exit() ends the cell alone;
 * Runtime's exit() and halt(), and calls by reflection, end the process.
 *
 * One file, because the launcher compiles one. From top to bottom: the conversation, the cells, what
 * JShell runs them with, the output, the messages.
 */
public class Kernel {
	private final Output output = new Output();
	private final Channel channel = new Channel(3);
	private Cells cells = new Cells();

	private Kernel() throws Exception {
	}

	public static void main(String[] arguments) throws Exception {
		new Kernel().serve();
		Runtime.getRuntime().halt(0);
	}

	private void serve() throws Exception {
		Signal.handle(new Signal("INT"), signal -> cells.interrupt());
		channel.send(message("ready", null, "language", "java", "version",
			Runtime.version().toString().replaceAll("[^0-9.].*", ""), "features", List.of()));
		for (Map<String, Object> message; (message = channel.receive()) != null;) {
			String op = (String) message.get("op");
			if (op.equals("exit"))
				return;
			if (op.equals("run"))
				run(message);
			else if (op.equals("reset"))
				reset(message);
		}
	}

	private void run(Map<String, Object> message) throws IOException {
		Object id = message.get("id");
		Outcome end = cells.run((String) message.get("code"), (String) message.get("name"));
		output.restore();
		if (end.status.equals("error")) {
			System.err.println(end.trace);
			channel.send(message("error", id, "name", end.name, "message", end.message));
		} else if (end.text != null && !Boolean.TRUE.equals(message.get("silent"))) {
			channel.send(message("result", id, "text", end.text));
		}
		output.flush();
		channel.send(message("done", id, "status", end.status, "exit_code", end.exitCode));
	}

	private void reset(Map<String, Object> message) throws IOException {
		cells = new Cells();
		output.restore();
		channel.send(message("done", message.get("id"), "status", "ok", "exit_code", 0));
	}

	private static Map<String, Object> message(String op, Object id, Object... fields) {
		Map<String, Object> message = new LinkedHashMap<>();
		message.put("op", op);
		if (id != null)
			message.put("id", id);
		for (int n = 0; n < fields.length; n += 2)
			message.put((String) fields[n], fields[n + 1]);
		return message;
	}

	// ---- the cells ----

	/** What became of a cell. */
	static class Outcome {
		final String status;
		final int exitCode;
		String text; // of the value, or null
		String name;
		String message;
		String trace;

		Outcome(String status, int exitCode) {
			this.status = status;
			this.exitCode = exitCode;
		}

		static Outcome error(String name, String message, String trace) {
			Outcome error = new Outcome("error", 1);
			error.name = name;
			error.message = message == null ? "" : message;
			error.trace = trace;
			return error;
		}
	}

	/** Where in a cell a snippet, which is one statement or declaration, begins. */
	static class Place {
		final String cell;
		final int line;

		Place(String cell, int line) {
			this.cell = cell;
			this.line = line;
		}
	}

	static class Cells {
		private static final String[] IMPORTS = {"java.io.*", "java.math.*", "java.net.*",
			"java.nio.file.*", "java.util.*", "java.util.concurrent.*", "java.util.function.*",
			"java.util.regex.*", "java.util.stream.*"};

		private static final int STOP_INTERVAL_MS = 50;

		private final JShell shell;
		private final SourceCodeAnalysis analysis;
		private final Map<String, Place> places = new HashMap<>();
		private String cell;
		private boolean running;
		private volatile boolean interrupted;

		Cells() {
			Loader loader = new Loader();
			// So that services and resources of libraries are found by the threads of cells.
			Thread.currentThread().setContextClassLoader(loader);
			shell = JShell.builder().executionEngine(new Engine(loader), Map.of()).build();
			analysis = shell.sourceCodeAnalysis();
			for (String entry : System.getProperty("java.class.path", "").split(File.pathSeparator)) {
				if (!entry.isEmpty() && new File(entry).exists())
					shell.addToClasspath(entry);
			}
			for (String name : IMPORTS)
				shell.eval("import " + name + ";");
		}

		/** Stop the cell that runs; from any thread. */
		synchronized void interrupt() {
			if (running && !interrupted) {
				interrupted = true;
				new Thread(this::stop).start();
			}
		}

		/** More than once, because between two snippets of a cell there is nothing to stop. */
		private synchronized void stop() {
			try {
				while (running) {
					shell.stop();
					wait(STOP_INTERVAL_MS);
				}
			} catch (InterruptedException e) {
				// Nobody interrupts this thread.
			}
		}

		private synchronized void setRunning(boolean running) {
			this.running = running;
			if (running)
				interrupted = false;
			notifyAll();
		}

		Outcome run(String code, String name) {
			cell = name;
			Ends.code = null;
			setRunning(true);
			Outcome end;
			try {
				end = evaluate(code);
			} catch (RuntimeException | Error e) {
				end = Outcome.error(e.getClass().getName(), e.getMessage(), name + ": " + e);
			} finally {
				setRunning(false);
			}
			if (interrupted)
				return new Outcome("interrupted", 130);
			return Ends.code != null ? new Outcome("exit", Ends.code & 255) : end;
		}

		private Outcome evaluate(String code) {
			Outcome end = new Outcome("ok", 0);
			int line = 1;
			for (String rest = code; !rest.isBlank() && !interrupted;) {
				String begin = rest.stripLeading();
				line += lines(rest) - lines(begin);
				rest = begin;
				if (isOneSnippet(rest))
					return evaluateSnippet(rest, line);
				SourceCodeAnalysis.CompletionInfo info = analysis.analyzeCompletion(rest);
				boolean whole = info.completeness().isComplete();
				if (info.completeness() == SourceCodeAnalysis.Completeness.EMPTY)
					break;
				// What is not complete is evaluated as it is, for the compiler's own words.
				String source = whole ? info.source() : rest;
				String left = whole ? info.remaining() : "";
				end = evaluateSnippet(source, line);
				if (!end.status.equals("ok"))
					return end;
				line += lines(rest) - lines(left);
				rest = left;
			}
			return end;
		}

		/** Plain to see, which spares the analysis that takes as long as the evaluation. */
		private static boolean isOneSnippet(String code) {
			String text = code.stripTrailing();
			int end = text.indexOf(';');
			return (end < 0 || end == text.length() - 1)
				&& text.chars().noneMatch(letter -> "\n\r{}\"'/@".indexOf(letter) >= 0);
		}

		private static int lines(String text) {
			return (int) text.chars().filter(letter -> letter == '\n').count();
		}

		private Outcome evaluateSnippet(String source, int line) {
			Outcome end = new Outcome("ok", 0);
			for (SnippetEvent event : shell.eval(source)) {
				// A snippet that is evaluated again because of this one is not this one.
				if (event.causeSnippet() != null)
					continue;
				places.put(event.snippet().id(), new Place(cell, line));
				if (event.status() == Snippet.Status.REJECTED)
					return rejected(event.snippet(), source, line);
				if (event.exception() != null)
					return raised(event.exception());
				tellUnresolved(event);
				end.text = shownValue(event);
			}
			return end;
		}

		private String shownValue(SnippetEvent event) {
			if (!(event.snippet() instanceof ExpressionSnippet)
					&& event.snippet().subKind() != Snippet.SubKind.TEMP_VAR_EXPRESSION_SUBKIND)
				return null;
			if (event.snippet().subKind() == Snippet.SubKind.ASSIGNMENT_SUBKIND)
				return null;
			String value = event.value();
			return value == null || value.isEmpty() || value.equals("null") ? null : value;
		}

		/** A method may be declared before what it calls; whoever wonders is told. */
		private void tellUnresolved(SnippetEvent event) {
			Snippet.Status status = event.status();
			if (status != Snippet.Status.RECOVERABLE_DEFINED
					&& status != Snippet.Status.RECOVERABLE_NOT_DEFINED)
				return;
			if (event.snippet() instanceof jdk.jshell.DeclarationSnippet declaration) {
				String names = String.join(", ", shell.unresolvedDependencies(declaration).toList());
				System.err.println(cell + ": " + declaration.name()
					+ " cannot be used before these are declared: " + names);
			}
		}

		/** What the compiler says of a snippet, as it says it of a file. */
		private Outcome rejected(Snippet snippet, String source, int line) {
			List<Diag> errors = shell.diagnostics(snippet).filter(Diag::isError).toList();
			StringBuilder trace = new StringBuilder();
			for (Diag error : errors) {
				int at = (int) Math.min(Math.max(error.getPosition(), 0), source.length());
				int start = source.lastIndexOf('\n', at - 1) + 1;
				int end = source.indexOf('\n', at);
				String shown = source.substring(start, end < 0 ? source.length() : end);
				trace.append(cell).append(':').append(line + lines(source.substring(0, at)))
					.append(": error: ").append(error.getMessage(null)).append('\n')
					.append(shown).append('\n').append(" ".repeat(at - start)).append("^\n");
			}
			String first = errors.isEmpty() ? "this is no Java"
				: errors.get(0).getMessage(null).lines().findFirst().orElse("");
			return Outcome.error("CompilationError", first,
				trace.length() == 0 ? cell + ": error: " + first : trace.toString().stripTrailing());
		}

		private Outcome raised(JShellException exception) {
			StringBuilder trace = new StringBuilder();
			describe(exception, "", trace);
			return Outcome.error(nameOf(exception), messageOf(exception), trace.toString().stripTrailing());
		}

		private static String nameOf(Throwable exception) {
			return exception instanceof EvalException raised ? raised.getExceptionClassName()
				: exception.getClass().getSimpleName();
		}

		private static String messageOf(Throwable exception) {
			if (exception instanceof UnresolvedReferenceException unresolved)
				return unresolved.getSnippet().name() + " uses what is not declared";
			return exception.getMessage();
		}

		private void describe(Throwable exception, String before, StringBuilder trace) {
			String message = messageOf(exception);
			trace.append(before).append(nameOf(exception))
				.append(message == null ? "" : ": " + message).append('\n');
			for (StackTraceElement frame : exception.getStackTrace()) {
				if (!isOurs(frame))
					trace.append("\tat ").append(describe(frame)).append('\n');
			}
			if (exception.getCause() != null)
				describe(exception.getCause(), "Caused by: ", trace);
		}

		private static boolean isOurs(StackTraceElement frame) {
			String name = frame.getClassName();
			return name.startsWith("Kernel") || name.startsWith("jdk.jshell.")
				|| name.startsWith("jdk.internal.reflect.")
				|| (name.equals("java.lang.reflect.Method") && frame.getMethodName().equals("invoke"))
				|| (name.equals("java.lang.Thread") && frame.getMethodName().startsWith("run"));
		}

		/** A frame of a snippet names the snippet ("#5") as its file; we say the cell and its line. */
		private String describe(StackTraceElement frame) {
			String file = frame.getFileName();
			Place place = file != null && file.startsWith("#") ? places.get(file.substring(1)) : null;
			if (place == null)
				return frame.toString();
			String type = frame.getClassName().replaceFirst("^REPL\\.\\$JShell\\$\\w+\\$?", "");
			String method = frame.getMethodName().equals("do_it$") ? "" : frame.getMethodName();
			return type + (type.isEmpty() || method.isEmpty() ? "" : ".") + method + "(" + place.cell
				+ ":" + (place.line + frame.getLineNumber() - 1) + ")";
		}
	}

	// ---- what JShell runs snippets with ----

	/** Where System.exit() of a cell goes: its end is the cell's end. */
	public static class Ends {
		static volatile Integer code;

		/** Not an Exception, so that few cells catch it. */
		static class Exit extends Error {
			Exit() {
				super("the cell has ended", null, false, false);
			}
		}

		public static void exit(int status) {
			code = status;
			throw new Exit();
		}
	}

	/** JShell's engine in this process, with our loader. */
	static class Engine implements ExecutionControlProvider {
		private final Loader loader;

		Engine(Loader loader) {
			this.loader = loader;
		}

		@Override
		public String name() {
			return "kernel";
		}

		@Override
		public ExecutionControl generate(ExecutionEnv env, Map<String, String> parameters) {
			return new LocalExecutionControl(loader);
		}
	}

	/** Loads the classes that JShell makes of snippets, and libraries. */
	static class Loader extends URLClassLoader implements LoaderDelegate {
		private final Map<String, byte[]> made = new HashMap<>();

		Loader() {
			super(new URL[0], Kernel.class.getClassLoader());
		}

		@Override
		public void load(ClassBytecodes[] classes) throws ExecutionControl.ClassInstallException {
			for (ClassBytecodes each : classes)
				made.put(each.name(), ExitRedirection.apply(each.bytecodes()));
			boolean[] loaded = new boolean[classes.length];
			try {
				for (int n = 0; n < classes.length; n++) {
					loadClass(classes[n].name()).getDeclaredMethods();
					loaded[n] = true;
				}
			} catch (ClassNotFoundException | LinkageError e) {
				throw new ExecutionControl.ClassInstallException(e.toString(), loaded);
			}
		}

		@Override
		public void classesRedefined(ClassBytecodes[] classes) {
			for (ClassBytecodes each : classes)
				made.put(each.name(), ExitRedirection.apply(each.bytecodes()));
		}

		@Override
		public void addToClasspath(String path) throws ExecutionControl.InternalException {
			try {
				for (String entry : path.split(File.pathSeparator))
					addURL(new File(entry).toURI().toURL());
			} catch (MalformedURLException e) {
				throw new ExecutionControl.InternalException(e.toString());
			}
		}

		@Override
		public Class<?> findClass(String name) throws ClassNotFoundException {
			byte[] code = made.get(name);
			if (code == null)
				return super.findClass(name);
			Class<?> loaded = findLoadedClass(name);
			return loaded != null ? loaded : defineClass(name, code, 0, code.length);
		}
	}

	/**
	 * Makes each call of System.exit() in a class one of Ends.exit(). Only the table of constants
	 * changes: the reference to the method names another class, which is added at the end.
	 * (The Java Virtual Machine Specification, 4.4.)
	 */
	static class ExitRedirection {
		private static final int UTF8 = 1, LONG = 5, DOUBLE = 6, CLASS = 7, STRING = 8, METHOD = 10,
			NAME_AND_TYPE = 12, METHOD_HANDLE = 15, METHOD_TYPE = 16, MODULE = 19, PACKAGE = 20;
		private static final String TARGET = "Kernel$Ends";

		static byte[] apply(byte[] code) {
			ByteBuffer in = ByteBuffer.wrap(code);
			int count = in.getShort(8) & 0xffff;
			int[] at = new int[count];
			int end = findConstants(in, at);
			List<Integer> calls = new ArrayList<>();
			for (int n = 1; n < count; n++) {
				if (at[n] != 0 && in.get(at[n]) == METHOD && isExit(in, at, at[n]))
					calls.add(at[n]);
			}
			return calls.isEmpty() || count > 0xffff - 2 ? code : redirect(code, count, end, calls);
		}

		/** The place of each constant, and as the result of what follows them all. */
		private static int findConstants(ByteBuffer in, int[] at) {
			int place = 10;
			for (int n = 1; n < at.length; n++) {
				at[n] = place;
				int tag = in.get(place);
				place += size(in, place, tag);
				if (tag == LONG || tag == DOUBLE)
					n++; // they take two numbers
			}
			return place;
		}

		private static int size(ByteBuffer in, int place, int tag) {
			switch (tag) {
			case UTF8:
				return 3 + (in.getShort(place + 1) & 0xffff);
			case LONG: case DOUBLE:
				return 9;
			case CLASS: case STRING: case METHOD_TYPE: case MODULE: case PACKAGE:
				return 3;
			case METHOD_HANDLE:
				return 4;
			default:
				return 5;
			}
		}

		private static boolean isExit(ByteBuffer in, int[] at, int method) {
			int type = at[in.getShort(method + 1) & 0xffff];
			int signature = at[in.getShort(method + 3) & 0xffff];
			return text(in, at[in.getShort(type + 1) & 0xffff]).equals("java/lang/System")
				&& text(in, at[in.getShort(signature + 1) & 0xffff]).equals("exit");
		}

		private static String text(ByteBuffer in, int place) {
			return new String(in.array(), place + 3, in.getShort(place + 1) & 0xffff,
				StandardCharsets.UTF_8);
		}

		private static byte[] redirect(byte[] code, int count, int end, List<Integer> calls) {
			byte[] name = TARGET.getBytes(StandardCharsets.UTF_8);
			ByteBuffer out = ByteBuffer.allocate(code.length + 3 + name.length + 3);
			out.put(code, 0, end).put((byte) UTF8).putShort((short) name.length).put(name);
			out.put((byte) CLASS).putShort((short) count).put(code, end, code.length - end);
			out.putShort(8, (short) (count + 2));
			for (int call : calls)
				out.putShort(call + 1, (short) (count + 1));
			return out.array();
		}
	}

	// ---- the output ----

	/** System.out and System.err on descriptors of their own, which a cell cannot close. */
	static class Output {
		private final PrintStream out = stream(1, FileDescriptor.out);
		private final PrintStream err = stream(2, FileDescriptor.err);

		Output() {
			restore();
		}

		void restore() {
			System.setOut(out);
			System.setErr(err);
			flush();
		}

		void flush() {
			out.flush();
			err.flush();
		}

		private static PrintStream stream(int number, FileDescriptor descriptor) {
			OutputStream bytes;
			try {
				bytes = new FileOutputStream("/proc/self/fd/" + number, true);
			} catch (IOException e) {
				bytes = new FileOutputStream(descriptor);
			}
			return new Unclosable(bytes);
		}

		private static class Unclosable extends PrintStream {
			Unclosable(OutputStream bytes) {
				super(bytes, true, StandardCharsets.UTF_8);
			}

			@Override
			public void close() {
				flush();
			}
		}
	}

	// ---- the messages ----

	/** Messages to and from the host: a length of 32 bits, little-endian, and JSON. */
	static class Channel {
		private static final int LIMIT = 4 << 20;
		private static final int TEXT_LIMIT = 1 << 18; // of a text: JSON may make six letters of each

		private final DataInputStream in;
		private final DataOutputStream out;

		/** Java has no way to a descriptor by its number; its launcher is told to let us at this one. */
		Channel(int number) throws ReflectiveOperationException {
			FileDescriptor descriptor = new FileDescriptor();
			Field field = FileDescriptor.class.getDeclaredField("fd");
			field.setAccessible(true);
			field.setInt(descriptor, number);
			in = new DataInputStream(new FileInputStream(descriptor));
			out = new DataOutputStream(new FileOutputStream(descriptor));
		}

		/** The next message, or null at the end. */
		Map<String, Object> receive() throws IOException {
			try {
				int size = Integer.reverseBytes(in.readInt());
				if (size < 0 || size > LIMIT)
					return null;
				byte[] data = new byte[size];
				in.readFully(data);
				return new JsonReader(new String(data, StandardCharsets.UTF_8)).object();
			} catch (EOFException e) {
				return null;
			}
		}

		synchronized void send(Map<String, Object> message) throws IOException {
			StringBuilder text = new StringBuilder();
			message.forEach((key, value) ->
				text.append(text.length() == 0 ? "{" : ",").append(json(key)).append(':').append(json(value)));
			byte[] data = text.append('}').toString().getBytes(StandardCharsets.UTF_8);
			ByteBuffer whole = ByteBuffer.allocate(4 + data.length).order(ByteOrder.LITTLE_ENDIAN);
			out.write(whole.putInt(data.length).put(data).array());
			out.flush();
		}

		private static String json(Object value) {
			if (!(value instanceof String text))
				return String.valueOf(value);
			if (text.length() > TEXT_LIMIT)
				text = text.substring(0, TEXT_LIMIT) + " …";
			StringBuilder quoted = new StringBuilder("\"");
			for (char letter : text.toCharArray()) {
				if (letter == '"' || letter == '\\')
					quoted.append('\\').append(letter);
				else if (letter < ' ')
					quoted.append(String.format(Locale.ROOT, "\\u%04x", (int) letter));
				else
					quoted.append(letter);
			}
			return quoted.append('"').toString();
		}
	}

	/** What the host sends is one object of texts, numbers, true and false. */
	static class JsonReader {
		private final String text;
		private int at;

		JsonReader(String text) {
			this.text = text;
		}

		Map<String, Object> object() {
			Map<String, Object> fields = new LinkedHashMap<>();
			expect('{');
			while (peek() != '}') {
				String key = string();
				expect(':');
				fields.put(key, value());
				if (peek() == ',')
					at++;
			}
			return fields;
		}

		private char peek() {
			while (Character.isWhitespace(text.charAt(at)))
				at++;
			return text.charAt(at);
		}

		private void expect(char letter) {
			if (peek() != letter)
				throw new IllegalArgumentException("the host's message has no '" + letter + "' at " + at);
			at++;
		}

		private Object value() {
			if (peek() == '"')
				return string();
			int start = at;
			while (",}".indexOf(peek()) < 0)
				at++;
			String word = text.substring(start, at).strip();
			if (word.equals("true") || word.equals("false"))
				return Boolean.valueOf(word);
			return word.equals("null") ? null : Long.valueOf(word);
		}

		private String string() {
			StringBuilder plain = new StringBuilder();
			expect('"');
			for (; text.charAt(at) != '"'; at++)
				plain.append(text.charAt(at) == '\\' ? escape() : text.charAt(at));
			at++;
			return plain.toString();
		}

		private char escape() {
			char letter = text.charAt(++at);
			int known = "bfnrt".indexOf(letter);
			if (known >= 0)
				return "\b\f\n\r\t".charAt(known);
			if (letter != 'u')
				return letter;
			at += 4;
			return (char) Integer.parseInt(text.substring(at - 3, at + 1), 16);
		}
	}
}
