// SPDX-License-Identifier: Apache-2.0
import java.sql.*;
import java.util.Random;

/** Two clients of a database in this JVM that insert, update, join, sort and search text for ever. Argument: its URL. */
public class Databases {
    static final int ROWS = 3000;

    static void fill(Connection database) throws SQLException {
        try (Statement statement = database.createStatement()) {
            statement.execute("create table customer (id int primary key, name varchar(60), city int)");
            statement.execute("create table purchase (id int primary key, customer int, cents int, words varchar(200))");
            statement.execute("create index purchase_of on purchase (customer)");
        }
        try (PreparedStatement customer = database.prepareStatement("insert into customer values (?, ?, ?)");
             PreparedStatement purchase = database.prepareStatement("insert into purchase values (?, ?, ?, ?)")) {
            Random random = new Random(1);
            for (int i = 0; i < ROWS; i++) {
                customer.setInt(1, i);
                customer.setString(2, "customer " + random.nextInt(1000));
                customer.setInt(3, random.nextInt(50));
                customer.execute();
                purchase.setInt(1, i);
                purchase.setInt(2, random.nextInt(ROWS));
                purchase.setInt(3, random.nextInt(100000));
                purchase.setString(4, "words " + Long.toString(random.nextLong(), 36) + " and more");
                purchase.execute();
            }
        }
    }

    static long read(PreparedStatement query) throws SQLException {
        long sum = 0;
        try (ResultSet rows = query.executeQuery()) {
            while (rows.next())
                sum += rows.getLong(1);
        }
        return sum;
    }

    static void work(Connection database, int seed) throws SQLException {
        Random random = new Random(seed);
        try (PreparedStatement join = database.prepareStatement("select sum(p.cents) from purchase p join customer c"
                     + " on p.customer = c.id where c.city = ? group by c.name order by 1 desc");
             PreparedStatement search = database.prepareStatement("select count(*) from purchase where words like ?");
             PreparedStatement change = database.prepareStatement("update purchase set cents = cents + 1 where id = ?");
             PreparedStatement sort = database.prepareStatement("select cents from purchase where cents > ? order by words")) {
            for (;;) {
                join.setInt(1, random.nextInt(50));
                read(join);
                search.setString(1, "%" + Integer.toString(random.nextInt(1296), 36) + "%");
                read(search);
                for (int i = 0; i < 50; i++) {
                    change.setInt(1, (random.nextInt(ROWS) & ~1) | (seed & 1));
                    change.executeUpdate();
                }
                sort.setInt(1, random.nextInt(100000));
                read(sort);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (Connection database = DriverManager.getConnection(arguments[0])) {
            fill(database);
        }
        for (int i = 0; i < 2; i++) {
            Connection own = DriverManager.getConnection(arguments[0]);
            own.setTransactionIsolation(Connection.TRANSACTION_READ_UNCOMMITTED);
            int seed = i;
            new Thread(() -> {
                try {
                    work(own, seed);
                } catch (SQLException error) {
                    error.printStackTrace();
                    System.exit(1);
                }
            }).start();
        }
        System.out.println("READY");
    }
}
