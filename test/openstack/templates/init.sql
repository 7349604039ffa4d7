CREATE DATABASE IF NOT EXISTS keystone CHARACTER SET utf8mb3;
CREATE DATABASE IF NOT EXISTS neutron CHARACTER SET utf8mb3;
CREATE USER IF NOT EXISTS keystone@'{{.Host}}' IDENTIFIED BY '{{.KeystoneDB}}';
CREATE USER IF NOT EXISTS neutron@'{{.Host}}' IDENTIFIED BY '{{.NeutronDB}}';
GRANT ALL ON keystone.* TO keystone@'{{.Host}}';
GRANT ALL ON neutron.* TO neutron@'{{.Host}}';
